import { type BlobStore, BlobStoreUnavailableError } from './blobs.ts';

/** What a disk says that is full, read-only, broken or not this user's, and a process that has too many files open. */
const DISK_CODES: ReadonlySet<string> = new Set(
  'ENOSPC EDQUOT EIO EACCES EPERM EROFS ENOENT ENOTDIR EMFILE ENFILE ENOMEM ENODEV ENXIO ESTALE EBUSY ELOOP EFBIG'.split(
    ' ',
  ),
);

/** The store with the faults of its disk as `BlobStoreUnavailableError`. Other errors pass, those of a source above all. */
export function reportDiskFaults(store: BlobStore): BlobStore {
  return {
    ...store,
    put: (key, source, limits) => report(store.put(key, source, limits)),
    get: (key, range) => report(store.get(key, range)),
    remove: (key) => report(store.remove(key)),
    exists: (key) => report(store.exists(key)),
    check: () => report(store.check()),
  };
}

/** The error of a file operation; a fault of the disk as `BlobStoreUnavailableError`. */
export function describeFileError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  if (!DISK_CODES.has(String(error.code))) return error;
  return new BlobStoreUnavailableError(`the file store failed: ${error.message}`, { cause: error });
}

async function report<Answer>(work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    throw describeFileError(error);
  }
}
