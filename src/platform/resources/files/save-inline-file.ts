import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { storeFile } from './create-file.ts';
import { claimBlob } from './keep-blob.ts';
import { DEFAULT_PURPOSE } from './schema.ts';
import { type FileRow, insertFile } from './store.ts';

export interface InlineFile {
  readonly projectId: string;
  /** Whose smith token may read it; null: the tenant's alone. */
  readonly smithId: string | null;
  /** Empty where the conversation names none. */
  readonly filename: string;
  /** Empty where the conversation names none: the name tells then. */
  readonly mediaType: string;
  /** Default `user_data`. */
  readonly purpose?: string;
  readonly content: Uint8Array | AsyncIterable<Uint8Array>;
}

/**
 * Keeps a file that came inside a conversation: reachable by its id, in no list. Opens a transaction of its own, so call
 * it outside of one. Throws `payload_too_large` past `maxBytes`, and `storage_unavailable`.
 */
export async function saveInlineFile(
  deps: { readonly db: Database; readonly blobs: BlobStore },
  file: InlineFile,
  maxBytes: number,
): Promise<FileRow> {
  const { projectId, filename, mediaType, content } = file;
  const bytes = content instanceof Uint8Array ? once(content) : content;
  const stored = await storeFile(deps, projectId, { filename, mediaType, bytes }, maxBytes);
  return new TenantDatabase(deps.db, projectId).transaction(async (tx) => {
    await claimBlob(tx, blobKey(projectId, stored.id));
    return insertFile(tx, {
      ...stored,
      smith_id: file.smithId,
      purpose: file.purpose ?? DEFAULT_PURPOSE,
      listed: false,
      expires_at: null,
    });
  });
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
