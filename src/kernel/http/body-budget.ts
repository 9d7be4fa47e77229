/**
 * Room for bodies that are on their way: each is held in memory until it is whole. A few slow ones are no matter; thousands of
 * large ones at once would be the end of the process. Bodies that are small, and files, which go to their store while they
 * arrive, take none.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';

/** Smaller bodies are not counted: connections are, and such a body costs little more than one. */
const COUNTED_FROM_BYTES = 64 * 1024;
const MIN_TOTAL_BYTES = 256 * 1024 * 1024;
/** However large a body may be, so many of them have room. */
const MIN_BODIES = 8;
/** One caller's part, so that it keeps nobody else out. */
const PARTS = 4;
const RETRY_AFTER_SECONDS = 1;

export interface BodyBudget {
  /**
   * Takes room for the request's body, until it has been read or given up. `limitBytes`: the most that it may have, which is
   * assumed where it does not say how long it is. Throws `service_overloaded`.
   */
  admit(request: IncomingMessage, owner: string, limitBytes: number): void;
}

/** `bodyLimitBytes`: of most bodies. */
export function createBodyBudget(bodyLimitBytes: number, minTotalBytes = MIN_TOTAL_BYTES): BodyBudget {
  const totalBytes = Math.max(minTotalBytes, MIN_BODIES * bodyLimitBytes);
  const ownerBytes = totalBytes / PARTS;
  const owned = new Map<string, number>();
  let takenBytes = 0;

  return {
    admit(request, owner, limitBytes) {
      // It left while it was checked, and nothing will say so again.
      if (request.destroyed) return;
      const bytes = expectedBytes(request, limitBytes);
      // One that is longer than it may be is refused before it is read.
      if (bytes < COUNTED_FROM_BYTES || bytes > limitBytes) return;
      const own = owned.get(owner) ?? 0;
      if (own + bytes > ownerBytes) throw tooMuch(`of one caller are more than ${ownerBytes}`);
      if (takenBytes + bytes > totalBytes) throw tooMuch(`are more than ${totalBytes}`);
      owned.set(owner, own + bytes);
      takenBytes += bytes;
      request.once('close', () => {
        takenBytes -= bytes;
        const left = (owned.get(owner) ?? bytes) - bytes;
        if (left === 0) owned.delete(owner);
        else owned.set(owner, left);
      });
    },
  };
}

function expectedBytes({ headers }: IncomingMessage, limitBytes: number): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : limitBytes;
}

function tooMuch(what: string): ApiError {
  return new ApiError('service_overloaded', {
    message: `The bodies that are arriving ${what} bytes together. Retry after ${RETRY_AFTER_SECONDS} s.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
