import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { replyToPoll } from './poll-hint.ts';
import { renderStoreFile } from './render.ts';
import type { VectorStoreFile, VectorStoreFilePath } from './schema.ts';
import { findStoreFile } from './store-file-store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function getStoreFile(
  clock: Clock,
  { db, caller, params }: ProjectRead<{ params: VectorStoreFilePath }>,
): Promise<HttpReply<VectorStoreFile>> {
  return replyToPoll(await readStoreFile(db, caller, params), clock);
}

/** Throws `not_found`. */
export async function readStoreFile(
  db: TenantDb,
  caller: ProjectCaller,
  { vsId, fid }: VectorStoreFilePath,
): Promise<VectorStoreFile> {
  const store = await getVisibleStore(db, caller, vsId);
  const row = await findStoreFile(db, store.id, fid);
  if (row === undefined) throw new ApiError('not_found');
  return renderStoreFile(row);
}
