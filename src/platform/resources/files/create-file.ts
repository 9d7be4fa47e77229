import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { FilePart, UploadTarget } from '../../../kernel/http/upload.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { blobKey } from './blob-key.ts';
import { cleanFilename } from './clean-filename.ts';
import { claimBlob, discardBlob, keepBlob } from './keep-blob.ts';
import { mediaTypeOf } from './media-type.ts';
import { readExpiry } from './read-expiry.ts';
import { renderFile } from './render-file.ts';
import { DEFAULT_PURPOSE, type File, type FileFields } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { insertFile } from './store.ts';

export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Where uploads go: under the id that their file will have. */
export function fileUploads(deps: {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly config: { readonly fileLimitBytes: number };
}): UploadTarget<ProjectCaller, StoredFile> {
  const maxBytes = deps.config.fileLimitBytes;
  return {
    field: 'file',
    maxBytes,
    store: ({ projectId }, part) => storeFile(deps, projectId, part, maxBytes),
    discard: ({ projectId }, { id }) => discardBlob(deps, projectId, blobKey(projectId, id)),
  };
}

/** Stores a file's bytes; `insertStoredFile` makes it a file. */
export async function storeFile(
  deps: { readonly db: Database; readonly blobs: BlobStore },
  projectId: string,
  part: FilePart,
  maxBytes: number,
): Promise<StoredFile> {
  const id = mintId('file');
  const filename = cleanFilename(part.filename);
  const stored = await keepBlob(deps, projectId, blobKey(projectId, id), part.bytes, maxBytes);
  return { id, filename, media_type: mediaTypeOf(part.mediaType, filename), ...stored };
}

export async function createFile({
  tx,
  caller,
  body,
  file,
}: ProjectChange<{ body: FileFields; file: StoredFile }>): Promise<File> {
  await claimBlob(tx, blobKey(caller.projectId, file.id));
  const row = await insertFile(tx, {
    ...file,
    smith_id: smithOf(caller) ?? null,
    purpose: body.purpose ?? DEFAULT_PURPOSE,
    expires_at: readExpiry(body, new Date()),
    listed: true,
  });
  return renderFile(row);
}
