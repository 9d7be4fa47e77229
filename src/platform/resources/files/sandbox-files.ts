/** Files as the sandbox uses them: what lies in a box, what comes out of it, and its workspace. */
import type { Logger } from '../../../kernel/log/log.ts';
import type { SandboxFiles } from '../../sandbox/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { type FileDependencies, insertStoredFiles, storeFile } from './create-file.ts';
import { openBlob, openFile } from './get-content.ts';
import { claimBlobs, discardBlob, keepBlob, releaseBlob } from './keep-blob.ts';
import { chargeStorage, giveBackStorage } from './storage-quota.ts';
import { findReadable } from './turn-files.ts';

/** What a packed workspace may take beyond its files: it is limited before it is packed. */
const MAX_ARCHIVE_BYTES = 1024 ** 4;

export function createSandboxFiles(deps: FileDependencies & { readonly logger: Logger }): SandboxFiles {
  const { db, blobs, config, logger } = deps;
  return {
    async findInputs(projectId, smithId, fileIds) {
      const scope = tenantDb(db, projectId);
      const rows = [];
      for (const id of fileIds) rows.push(await findReadable(scope, { smithId, caller: null }, id));
      return rows
        .filter((row) => row !== undefined)
        .map((row) => ({
          filename: row.filename === '' ? row.id : row.filename,
          bytes: row.bytes,
          open: () => openFile(blobs, projectId, row),
        }));
    },
    storeOutput: (projectId, filename, content) =>
      storeFile(deps, projectId, { filename, mediaType: '', bytes: content }),
    async claimOutputs(tx, smithId, outputs) {
      const rows = outputs.map(({ id, filename, media_type, bytes, sha256 }) => {
        const file = { id, filename, media_type, bytes, sha256, smith_id: smithId };
        return { ...file, purpose: 'assistants_output', listed: true, expires_at: null };
      });
      await insertStoredFiles(tx, rows, config);
    },
    openArchive: (projectId, archiveId) => openBlob(blobs, blobKey(projectId, archiveId)),
    storeArchive: (projectId, archiveId, content) =>
      keepBlob(deps, projectId, blobKey(projectId, archiveId), content, MAX_ARCHIVE_BYTES),
    async replaceArchive(tx, before, after) {
      if (after !== null) await claimBlobs(tx, [blobKey(tx.projectId, after.id)]);
      if (before !== null) await releaseBlob(tx, blobKey(tx.projectId, before.id));
      const more = (after?.bytes ?? 0) - (before?.bytes ?? 0);
      if (more > 0) await chargeStorage(tx, more, config.projectStorageBytes);
      else if (more < 0) await giveBackStorage(tx, -more);
    },
    async discard(projectId, ids) {
      for (const id of ids) {
        await discardBlob(deps, projectId, blobKey(projectId, id)).catch((error: unknown) => {
          logger.warn({ err: error, file: id }, 'bytes of a sandbox were not removed, and are swept later');
        });
      }
    },
  };
}
