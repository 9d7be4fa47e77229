/** Files as messaging channels use them: what comes with messages, and what goes along with answers. */
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { ChannelFiles } from '../../channels/index.ts';
import { TenantDatabase, tenantDb } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { type FileDependencies, insertStoredFiles, type StoredFile, storeFile } from './create-file.ts';
import { openFile } from './get-content.ts';
import { discardBlob } from './keep-blob.ts';
import { DEFAULT_PURPOSE } from './schema.ts';
import { findFile } from './store.ts';

const HELD_MS = 2 * 86_400_000;

type NewContent = Parameters<ChannelFiles['hold']>[1];

export function createChannelFiles(deps: FileDependencies): ChannelFiles {
  const { db, blobs, config } = deps;

  async function store(
    projectId: string,
    { filename, mediaType, content }: NewContent,
    of: { readonly smith_id: string | null; readonly expires_at: Date | null },
  ): Promise<StoredFile> {
    const stored = await storeFile(deps, projectId, { filename, mediaType, bytes: content });
    const row = { ...stored, ...of, purpose: DEFAULT_PURPOSE, listed: false };
    try {
      await new TenantDatabase(db, projectId).transaction((tx) => insertStoredFiles(tx, [row], config));
    } catch (error) {
      await discardBlob(deps, projectId, blobKey(projectId, stored.id));
      throw error;
    }
    return stored;
  }

  return {
    limitBytes: config.fileLimitBytes,
    async keep({ projectId, smithId }, file) {
      const { id, media_type } = await store(projectId, file, { smith_id: smithId, expires_at: null });
      return { fileId: id, mediaType: media_type };
    },
    async hold(projectId, file) {
      const { id } = await store(projectId, file, {
        smith_id: null,
        expires_at: new Date(systemClock.now().getTime() + HELD_MS),
      });
      return { fileId: id };
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
