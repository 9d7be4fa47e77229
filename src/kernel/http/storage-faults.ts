/** Where the errors of the stores become refusals: they know nothing of HTTP, and operations need not know of them. */
import { BlobStoreUnavailableError } from '../blobs/blobs.ts';
import { isStoreUnavailable } from '../db/sql-errors.ts';
import { ApiError } from './errors.ts';

/** A database that restarts, or a standby that takes over, needs a few seconds. */
export const STORAGE_RETRY_AFTER_SECONDS = 5;

/**
 * The refusal that any error is told as: itself, `storage_unavailable` where a store failed, or else `internal_error`. The
 * error is the cause, for the log.
 */
export function refusalFor(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return isStorageFault(error)
    ? new ApiError('storage_unavailable', { retryAfterSeconds: STORAGE_RETRY_AFTER_SECONDS, cause: error })
    : new ApiError('internal_error', { cause: error });
}

/** Whether the database or the file store failed, and not what was asked of it. */
export function isStorageFault(error: unknown): boolean {
  return isStoreUnavailable(error) || error instanceof BlobStoreUnavailableError;
}
