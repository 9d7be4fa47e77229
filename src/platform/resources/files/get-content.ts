import type { Readable } from 'node:stream';
import {
  BlobNotFoundError,
  type BlobStore,
  BlobStoreUnavailableError,
  type ByteRange,
} from '../../../kernel/blobs/blobs.ts';
import { ByteContent } from '../../../kernel/http/byte-content.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { blobKey } from './blob-key.ts';
import type { FilePath } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { type FileRow, findFile } from './store.ts';

export async function getContent(
  blobs: BlobStore,
  { db, caller, params }: ProjectRead<{ params: FilePath }>,
): Promise<ByteContent> {
  const { projectId } = caller;
  const row = await findFile(db, params.fid, smithOf(caller));
  if (row === undefined) throw new ApiError('not_found');
  return new ByteContent({
    totalBytes: row.bytes,
    mediaType: row.media_type,
    etag: row.sha256,
    filename: row.filename,
    open: (range) => openFile(blobs, projectId, row, range),
  });
}

/** The file's bytes, or a range of them. Throws `storage_unavailable` where the store does not give them. */
export async function openFile(
  blobs: BlobStore,
  projectId: string,
  { id }: Pick<FileRow, 'id'>,
  range?: ByteRange,
): Promise<Readable> {
  return openBlob(blobs, blobKey(projectId, id), range);
}

/** A blob that some row stands for. Throws `storage_unavailable` where the store does not give it. */
export async function openBlob(blobs: BlobStore, key: string, range?: ByteRange): Promise<Readable> {
  try {
    const { stream } = await blobs.get(key, range);
    return stream;
  } catch (error) {
    const isFault = error instanceof BlobNotFoundError || error instanceof BlobStoreUnavailableError;
    throw isFault ? new ApiError('storage_unavailable', { cause: error }) : error;
  }
}
