import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { replyToPoll } from './poll-hint.ts';
import { renderBatch } from './render.ts';
import type { VectorStoreBatchPath, VectorStoreFileBatch } from './schema.ts';
import { findBatch } from './store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function getFileBatch(
  clock: Clock,
  { db, caller, params }: ProjectRead<{ params: VectorStoreBatchPath }>,
): Promise<HttpReply<VectorStoreFileBatch>> {
  return replyToPoll(await readFileBatch(db, caller, params), clock);
}

/** Throws `not_found`. */
export async function readFileBatch(
  db: TenantDb,
  caller: ProjectCaller,
  { vsId, bid }: VectorStoreBatchPath,
): Promise<VectorStoreFileBatch> {
  const store = await getVisibleStore(db, caller, vsId);
  const row = await findBatch(db, store.id, bid);
  if (row === undefined) throw new ApiError('not_found');
  return renderBatch(row);
}
