/** Files as messaging channels use them: what comes with messages, and what goes along with answers. */
import type { ChannelFiles } from '../../channels/index.ts';
import { TenantDatabase, tenantDb } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { type FileDependencies, insertStoredFiles, storeFile } from './create-file.ts';
import { openFile } from './get-content.ts';
import { discardBlob } from './keep-blob.ts';
import { DEFAULT_PURPOSE } from './schema.ts';
import { findFile } from './store.ts';

export function createChannelFiles(deps: FileDependencies): ChannelFiles {
  const { db, blobs, config } = deps;
  return {
    limitBytes: config.fileLimitBytes,
    async keep({ projectId, smithId }, { filename, mediaType, content }) {
      const stored = await storeFile(deps, projectId, { filename, mediaType, bytes: content });
      const row = { ...stored, smith_id: smithId, purpose: DEFAULT_PURPOSE, listed: false, expires_at: null };
      try {
        await new TenantDatabase(db, projectId).transaction((tx) => insertStoredFiles(tx, [row], config));
      } catch (error) {
        await discardBlob(deps, projectId, blobKey(projectId, stored.id));
        throw error;
      }
      return { fileId: stored.id, mediaType: stored.media_type };
    },
    async describe(projectId, fileIds) {
      const scope = tenantDb(db, projectId);
      const rows = await Promise.all(fileIds.map((id) => findFile(scope, id, undefined)));
      return rows
        .filter((row) => row !== undefined)
        .map(({ id, filename, media_type: mediaType, bytes }) => ({ fileId: id, filename, mediaType, bytes }));
    },
    open: (projectId, fileId) => openFile(blobs, projectId, { id: fileId }),
  };
}
