/** Bytes of files in memory, which outlive the replicas that store them. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  BlobNotFoundError,
  BlobRangeError,
  type BlobStore,
  BlobTooLargeError,
  digestOfKey,
} from '../../src/kernel/blobs/blobs.ts';
import { countPort } from './counted-ports.ts';
import type { Effects } from './effects.ts';

interface Kept {
  readonly bytes: Buffer;
  readonly storedAt: Date;
}

export function createMemoryBlobs(): BlobStore {
  const kept = new Map<string, Kept>();
  return {
    async put(key, source, { maxBytes }) {
      const bytes = await readAll(source, maxBytes);
      kept.set(digestOfKey(key), { bytes, storedAt: new Date() });
      return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    },
    async get(key, range) {
      const whole = kept.get(digestOfKey(key))?.bytes;
      if (whole === undefined) throw new BlobNotFoundError(key);
      if (range !== undefined && range.start >= whole.length) throw new BlobRangeError(whole.length);
      const part = range === undefined ? whole : whole.subarray(range.start, (range.end ?? whole.length - 1) + 1);
      return { stream: Readable.from([part]), bytes: part.length, totalBytes: whole.length };
    },
    remove: async (key) => void kept.delete(digestOfKey(key)),
    exists: async (key) => kept.has(digestOfKey(key)),
    async *listDigests(storedBefore) {
      for (const [digest, { storedAt }] of kept) if (storedAt < storedBefore) yield digest;
    },
    removeByDigest: async (digest) => void kept.delete(digest),
    removeStaleUploads: async () => 0,
    check: async () => undefined,
  };
}

/** What an upload brings is read before its effect, so that the effect is one moment. */
export function countBlobs(blobs: BlobStore, effects: Effects): BlobStore {
  const counted = countPort(blobs, effects, 'blobs', {
    reads: ['get', 'exists', 'check'],
    writes: ['remove', 'removeByDigest', 'removeStaleUploads'],
  });
  return {
    put: async (key, source, limits) => {
      const bytes = await readAll(source, limits.maxBytes);
      return effects.perform({ label: 'blobs put' }, () => blobs.put(key, Readable.from([bytes]), limits));
    },
    get: counted.get,
    remove: counted.remove,
    exists: counted.exists,
    listDigests: counted.listDigests,
    removeByDigest: counted.removeByDigest,
    removeStaleUploads: counted.removeStaleUploads,
    check: counted.check,
  };
}

async function readAll(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    pieces.push(piece);
    length += piece.length;
    if (length > maxBytes) throw new BlobTooLargeError(maxBytes);
  }
  return Buffer.concat(pieces);
}
