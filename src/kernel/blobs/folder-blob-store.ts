import { createHash, randomUUID } from 'node:crypto';
import type { Dir } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  BlobNotFoundError,
  BlobRangeError,
  type BlobStore,
  BlobTooLargeError,
  type ByteRange,
  digestOfKey,
  type StoredBlob,
} from './blobs.ts';
import { reportDiskFaults } from './disk-faults.ts';

/** A block of most file systems. */
const PROBE = Buffer.alloc(4_096);
const FOLDER = /^[0-9a-f]{2}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/**
 * Blobs in a local folder. A blob's path is the digest of its key, over two levels of folders: no key can leave the
 * root, collide on a file system that ignores case, or fill one folder. Uploads are written in `uploads/`, flushed to
 * the disk and renamed.
 */
export function createFolderBlobStore(root: string): BlobStore {
  const uploads = join(root, 'uploads');
  let prepared: Promise<void> | undefined;

  return reportDiskFaults({
    async put(key, source, limits) {
      const path = pathOf(root, key);
      prepared ??= makeFolder(uploads).catch((error: unknown) => {
        // A full or read-only disk may be corrected: the next upload tries again.
        prepared = undefined;
        throw error;
      });
      await prepared;
      const temporary = join(uploads, randomUUID());
      try {
        const stored = await writeUpload(temporary, source, limits.maxBytes);
        await makeFolder(dirname(path));
        await rename(temporary, path);
        await syncFolder(dirname(path)).catch(async (error: unknown) => {
          // It is there, but may not outlast a power cut: the caller is told that nothing is stored, so nothing stays.
          await rm(path, { force: true });
          throw error;
        });
        return stored;
      } finally {
        await rm(temporary, { force: true });
      }
    },

    async get(key, range) {
      const handle = await openBlob(root, key);
      try {
        const { size } = await handle.stat();
        return { ...readPart(handle, size, range), totalBytes: size };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },

    async remove(key) {
      await rm(pathOf(root, key), { force: true });
    },

    async exists(key) {
      const found = await stat(pathOf(root, key)).catch(undefinedIfAbsent);
      return found !== undefined;
    },

    async *listDigests(storedBefore) {
      for await (const outer of listNames(root, FOLDER)) {
        for await (const inner of listNames(join(root, outer), FOLDER)) {
          const folder = join(root, outer, inner);
          for await (const digest of listNames(folder, DIGEST)) {
            if (await isOlder(join(folder, digest), storedBefore)) yield digest;
          }
        }
      }
    },

    async removeByDigest(digest) {
      if (!DIGEST.test(digest)) throw new TypeError('a digest is 64 hexadecimal digits');
      await rm(pathOfDigest(root, digest), { force: true });
    },

    async removeStaleUploads(lastWrittenBefore) {
      let removed = 0;
      for await (const name of listNames(uploads, /^/)) {
        const path = join(uploads, name);
        if (!(await isOlder(path, lastWrittenBefore))) continue;
        await rm(path, { force: true });
        removed += 1;
      }
      return removed;
    },

    async check() {
      await makeFolder(uploads);
      const probe = join(uploads, randomUUID());
      try {
        // A full disk takes an empty file.
        await writeFile(probe, PROBE, { flag: 'wx', mode: 0o600 });
      } finally {
        await rm(probe, { force: true });
      }
    },
  });
}

function pathOf(root: string, key: string): string {
  return pathOfDigest(root, digestOfKey(key));
}

function pathOfDigest(root: string, digest: string): string {
  return join(root, digest.slice(0, 2), digest.slice(2, 4), digest);
}

/** Names in the folder, a few at a time; none where there is no such folder. */
async function* listNames(folder: string, pattern: RegExp): AsyncGenerator<string> {
  const opened: Dir | undefined = await opendir(folder).catch(undefinedIfAbsent);
  if (opened === undefined) return;
  for await (const { name } of opened) if (pattern.test(name)) yield name;
}

/** Whether the file was last written before the time; false once it is gone. */
async function isOlder(path: string, time: Date): Promise<boolean> {
  const found = await stat(path).catch(undefinedIfAbsent);
  return found?.isFile() === true && found.mtime < time;
}

async function writeUpload(path: string, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<StoredBlob> {
  const handle = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new BlobTooLargeError(maxBytes);
      hash.update(chunk);
      await writeAll(handle, chunk);
    }
    await handle.sync();
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0;
  while (written < chunk.byteLength) {
    written += (await handle.write(chunk, written, chunk.byteLength - written)).bytesWritten;
  }
}

function readPart(handle: FileHandle, size: number, range: ByteRange | undefined) {
  if (range === undefined) return { stream: handle.createReadStream(), bytes: size };
  const end = Math.min(range.end ?? size - 1, size - 1);
  if (range.start < 0 || range.start >= size || end < range.start) throw new BlobRangeError(size);
  return { stream: handle.createReadStream({ start: range.start, end }), bytes: end - range.start + 1 };
}

async function openBlob(root: string, key: string): Promise<FileHandle> {
  const handle = await open(pathOf(root, key), 'r').catch(undefinedIfAbsent);
  if (handle === undefined) throw new BlobNotFoundError(key);
  return handle;
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder, and its file systems journal the entry themselves.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function undefinedIfAbsent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
