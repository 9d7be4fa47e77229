import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { FilePart, UploadTarget } from '../../../kernel/http/upload.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { type TenantTransaction, tenantDb } from '../../store/tenant-db.ts';
import { blobKey } from './blob-key.ts';
import { cleanFilename } from './clean-filename.ts';
import { claimBlobs, discardBlob, keepBlob } from './keep-blob.ts';
import { mediaTypeOf } from './media-type.ts';
import { readExpiry } from './read-expiry.ts';
import { renderFile } from './render-file.ts';
import { DEFAULT_PURPOSE, type File, type FileFields } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { chargeStorage, readUsedBytes, storageExceeded } from './storage-quota.ts';
import { type FileRow, insertFiles, type NewFile } from './store.ts';

export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface FileDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly config: FileLimits;
}

export interface FileLimits {
  /** Of one file. */
  readonly fileLimitBytes: number;
  /** Of all files of a project. */
  readonly projectStorageBytes: number;
}

/** Where uploads go: under the id that their file will have. */
export function fileUploads(deps: FileDependencies): UploadTarget<ProjectCaller, StoredFile> {
  return {
    field: 'file',
    maxBytes: deps.config.fileLimitBytes,
    store: ({ projectId }, part) => storeFile(deps, projectId, part),
    discard: ({ projectId }, { id }) => discardBlob(deps, projectId, blobKey(projectId, id)),
  };
}

/**
 * Stores a file's bytes; `insertStoredFiles` makes it a file, `discardBlob` removes them. Throws `payload_too_large`, for
 * what the project has no room for too, and `storage_unavailable`.
 */
export async function storeFile(deps: FileDependencies, projectId: string, part: FilePart): Promise<StoredFile> {
  const { fileLimitBytes, projectStorageBytes } = deps.config;
  // No more is written than can be kept. That it can is for the transaction to find out that makes it a file.
  const leftBytes = projectStorageBytes - (await readUsedBytes(tenantDb(deps.db, projectId)));
  if (leftBytes <= 0) throw storageExceeded(projectStorageBytes);
  const id = mintId('file');
  const filename = cleanFilename(part.filename);
  const isShort = leftBytes < fileLimitBytes;
  const stored = await keepBlob(
    deps,
    projectId,
    blobKey(projectId, id),
    isShort ? withinStorage(part.bytes, leftBytes, projectStorageBytes) : part.bytes,
    fileLimitBytes,
  );
  return { id, filename, media_type: mediaTypeOf(part.mediaType, filename), ...stored };
}

/** The same bytes. Throws once there are more of them than the project has left. */
async function* withinStorage(
  source: AsyncIterable<Uint8Array>,
  leftBytes: number,
  limitBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    if (bytes > leftBytes) throw storageExceeded(limitBytes);
    yield chunk;
  }
}

/** Makes stored bytes files, all or none. Throws `payload_too_large` where the project's files have no room for them. */
export async function insertStoredFiles(
  tx: TenantTransaction,
  files: readonly NewFile[],
  { projectStorageBytes }: Pick<FileLimits, 'projectStorageBytes'>,
): Promise<FileRow[]> {
  if (files.length === 0) return [];
  await claimBlobs(
    tx,
    files.map(({ id }) => blobKey(tx.projectId, id)),
  );
  const rows = await insertFiles(tx, files);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  await chargeStorage(tx, bytes, projectStorageBytes);
  return rows;
}

export async function createFile(
  limits: FileLimits,
  { tx, caller, body, file }: ProjectChange<{ body: FileFields; file: StoredFile }>,
): Promise<File> {
  const row: NewFile = {
    ...file,
    smith_id: smithOf(caller) ?? null,
    purpose: body.purpose ?? DEFAULT_PURPOSE,
    expires_at: readExpiry(body, systemClock.now()),
    listed: true,
  };
  const [made] = await insertStoredFiles(tx, [row], limits);
  if (made === undefined) throw new Error('a file was inserted without a row');
  return renderFile(made);
}
