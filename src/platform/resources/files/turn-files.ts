/** Files as turns use them: see attached-files.ts of the engine. */
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mayRefer, smithOf } from '../../access/references.ts';
import type { AttachedFile, FileReader, TurnFiles } from '../../engine/index.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import { openFile } from './get-content.ts';
import { saveInlineFile } from './save-inline-file.ts';
import { type FileRow, findFile } from './store.ts';

export function createTurnFiles(deps: { db: Database; blobs: BlobStore }, maxBytes: number): TurnFiles {
  return {
    find: async (reader, fileId) => {
      const row = await findReadable(tenantDb(deps.db, reader.projectId), reader, fileId);
      return row && asAttached(row);
    },
    async save(projectId, smithId, file) {
      return asAttached(await saveInlineFile(deps, { projectId, smithId, ...file }, maxBytes));
    },
    async read(projectId, fileId) {
      return buffer(await openFile(deps.blobs, projectId, { id: fileId }));
    },
  };
}

/** The file, if it is there for this smith and the caller could get it itself. */
export async function findReadable(
  db: TenantDb,
  { smithId, caller }: Omit<FileReader, 'projectId'>,
  fileId: string,
): Promise<FileRow | undefined> {
  if (caller !== null && !mayRefer(caller, 'file')) return undefined;
  const row = await findFile(db, fileId, caller === null ? undefined : smithOf(caller));
  // The tenant's own files are for all of its smiths.
  return (row?.smith_id ?? smithId) === smithId ? row : undefined;
}

function asAttached({ id, filename, media_type: mediaType, bytes }: FileRow): AttachedFile {
  return { id, filename, mediaType, bytes };
}
