/** The port to file bytes. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

export interface StoredBlob {
  readonly bytes: number;
  /** Of the whole content, in hexadecimal. */
  readonly sha256: string;
}

/** Byte positions as in HTTP: both ends are included. An `end` past the content means its last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number;
}

export interface BlobStore {
  /**
   * Stores the stream under the key, replacing what was there. Readers see the whole blob or none of it: a stream that
   * fails or breaks off leaves nothing. Throws `BlobTooLargeError` past `maxBytes`, and `TypeError` for a bad key. What the
   * source throws passes.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, limits: { readonly maxBytes: number }): Promise<StoredBlob>;
  /**
   * `bytes` is the length of the answered part, `totalBytes` of the blob. Throws `BlobNotFoundError`, or
   * `BlobRangeError` when the range starts past the end. The caller reads or destroys the stream.
   */
  get(key: string, range?: ByteRange): Promise<{ stream: Readable; bytes: number; totalBytes: number }>;
  /** Removing what is not there is no error. */
  remove(key: string): Promise<void>;
  exists(key: string): Promise<boolean>;
  /**
   * The digests (`digestOfKey`) of the blobs that were stored before this time, one after the other and in no order: a
   * store need not be able to tell keys, and nothing holds the whole list. What is stored or removed meanwhile may be
   * among them or not.
   */
  listDigests(storedBefore: Date): AsyncIterable<string>;
  /** As `remove`, for a blob of the list. */
  removeByDigest(digest: string): Promise<void>;
  /** Removes what uploads have left that broke off and have been given nothing since this time. Returns how many. */
  removeStaleUploads(lastWrittenBefore: Date): Promise<number>;
  /** Rejects with `BlobStoreUnavailableError` while nothing can be stored. */
  check(): Promise<void>;
}

/** The store does not do its work now: its disk is full, read-only, broken or not this user's. Any method may reject with it. */
export class BlobStoreUnavailableError extends Error {
  override readonly name = 'BlobStoreUnavailableError';
}

export class BlobTooLargeError extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the content is larger than ${maxBytes} bytes`);
    this.name = 'BlobTooLargeError';
    this.maxBytes = maxBytes;
  }
}

export class BlobNotFoundError extends Error {
  constructor(key: string) {
    super(`no blob has the key ${key}`);
    this.name = 'BlobNotFoundError';
  }
}

export class BlobRangeError extends Error {
  readonly totalBytes: number;

  constructor(totalBytes: number) {
    super(`the range starts past the end of ${totalBytes} bytes, or its ends are swapped`);
    this.name = 'BlobRangeError';
    this.totalBytes = totalBytes;
  }
}

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const KEY_LENGTH_MAX = 512;

/** Keys are slash-separated names of letters, digits, `.`, `_` and `-`, none of which starts with a dot. */
function checkBlobKey(key: string): void {
  if (key.length > KEY_LENGTH_MAX || !KEY.test(key)) {
    throw new TypeError('a blob key is 1 to 512 characters: names of A-Z a-z 0-9 . _ - with slashes between them');
  }
}

/** SHA-256 of the key, in hexadecimal. Throws `TypeError` for a bad key. */
export function digestOfKey(key: string): string {
  checkBlobKey(key);
  return createHash('sha256').update(key).digest('hex');
}
