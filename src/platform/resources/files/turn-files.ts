/** Files as turns use them: see attached-files.ts of the engine. */
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { AttachedFile, TurnFiles } from '../../engine/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { openFile } from './get-content.ts';
import { saveInlineFile } from './save-inline-file.ts';
import { type FileRow, findFile } from './store.ts';

export function createTurnFiles(parts: { db: Database; blobs: BlobStore }, maxBytes: number): TurnFiles {
  return {
    async find(projectId, smithId, fileId) {
      const row = await findFile(tenantDb(parts.db, projectId), fileId, undefined);
      // The tenant's own files are for all of its smiths.
      return row === undefined || (row.smith_id ?? smithId) !== smithId ? undefined : asAttached(row);
    },
    async save(projectId, smithId, file) {
      return asAttached(await saveInlineFile(parts, { projectId, smithId, ...file }, maxBytes));
    },
    async read(projectId, fileId) {
      return buffer(await openFile(parts.blobs, projectId, { id: fileId }));
    },
  };
}

function asAttached({ id, filename, media_type: mediaType, bytes }: FileRow): AttachedFile {
  return { id, filename, mediaType, bytes };
}
