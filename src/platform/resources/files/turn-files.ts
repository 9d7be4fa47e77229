/** Files as turns use them: see attached-files.ts of the engine. */
import { buffer } from 'node:stream/consumers';
import { BlobNotFoundError } from '../../../kernel/blobs/blobs.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { mayRefer, smithOf } from '../../access/references.ts';
import type { AttachedFile, FileReader, TurnFiles } from '../../engine/index.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { type FileDependencies, insertStoredFiles, storeFile } from './create-file.ts';
import { openFile } from './get-content.ts';
import { discardBlob } from './keep-blob.ts';
import { DEFAULT_PURPOSE } from './schema.ts';
import { type FileRow, findFile } from './store.ts';

export function createTurnFiles(deps: FileDependencies & { readonly logger: Logger }): TurnFiles {
  return {
    find: async (reader, fileId) => {
      const row = await findReadable(tenantDb(deps.db, reader.projectId), reader, fileId);
      return row && asAttached(row);
    },
    async store(projectId, { filename, mediaType, content }) {
      const stored = await storeFile(deps, projectId, { filename, mediaType, bytes: once(content) });
      return { ...asAttached(stored), sha256: stored.sha256 };
    },
    async claim(tx, smithId, files) {
      const rows = files.map(({ id, filename, mediaType, bytes, sha256 }) => {
        const file = { id, filename, media_type: mediaType, bytes, sha256, smith_id: smithId };
        return { ...file, purpose: DEFAULT_PURPOSE, listed: false, expires_at: null };
      });
      await insertStoredFiles(tx, rows, deps.config);
    },
    async discard(projectId, files) {
      for (const { id } of files) {
        await discardBlob(deps, projectId, blobKey(projectId, id)).catch((error: unknown) => {
          deps.logger.warn({ err: error, file: id }, 'the bytes of a refused turn are left for the sweep');
        });
      }
    },
    async read(projectId, fileId) {
      // The bytes of a file that was deleted may be there for a moment longer.
      if ((await findFile(tenantDb(deps.db, projectId), fileId, undefined)) === undefined)
        throw new ApiError('not_found');
      try {
        return await buffer(await openFile(deps.blobs, projectId, { id: fileId }));
      } catch (error) {
        // Deleted between the two looks.
        const isGone = error instanceof ApiError && error.cause instanceof BlobNotFoundError;
        if (isGone) throw new ApiError('not_found', { cause: error });
        throw error instanceof ApiError ? error : new ApiError('storage_unavailable', { cause: error });
      }
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

type FileShown = Pick<FileRow, 'id' | 'filename' | 'media_type' | 'bytes'>;

function asAttached({ id, filename, media_type: mediaType, bytes }: FileShown): AttachedFile {
  return { id, filename, mediaType, bytes };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
