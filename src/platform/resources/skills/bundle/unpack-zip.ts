/**
 * A zip archive, unpacked in memory. Its directory is read and measured first; what a file turns out to have beyond the size
 * that it was said to have is never made. Inflating is done beside the event loop, a block at a time.
 */
import type { Entry, ZipFile } from 'yauzl';
import { ApiError } from '../../../../kernel/http/errors.ts';
import { type BundleFile, collectBytes, invalidBundle, tooLargeBundle } from './bundle-file.ts';
import { checkDistinct, checkPath, isOwnFile } from './check-paths.ts';
import { MAX_ENTRIES, MAX_FILES, MAX_UNPACKED_BYTES } from './limits.ts';

/** The parts of the attributes that Unix archivers write: what kind of file it is. */
const KIND_MASK = 0o170000;
const REGULAR = 0o100000;
const STORED = 0;
const DEFLATED = 8;

/** Throws `invalid_bundle` and `payload_too_large`. */
export async function unpackZip(archive: Buffer): Promise<BundleFile[]> {
  try {
    const { fromBufferPromise } = await import('yauzl');
    const zip = await fromBufferPromise(archive, { strictFileNames: true });
    const entries = await readDirectory(zip);
    const files: BundleFile[] = [];
    for (const entry of entries) {
      const content = await collectBytes(await zip.openReadStreamPromise(entry), () => undefined);
      files.push({ path: entry.fileName, ...content });
    }
    return files;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const reason = error instanceof Error ? error.message.slice(0, 200) : '';
    throw new ApiError('invalid_bundle', {
      param: 'files',
      message: `The archive cannot be unpacked: ${reason}.`,
      cause: error,
    });
  }
}

async function readDirectory(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > MAX_ENTRIES) throw tooLargeBundle(`The archive has more than ${MAX_ENTRIES} entries.`);
  const entries: Entry[] = [];
  let bytes = 0;
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith('/')) continue;
    checkPath(entry.fileName);
    checkEntry(entry);
    if (!isOwnFile(entry.fileName)) continue;
    entries.push(entry);
    if (entries.length > MAX_FILES) throw tooLargeBundle(`The bundle has more than ${MAX_FILES} files.`);
    bytes += entry.uncompressedSize;
    if (bytes > MAX_UNPACKED_BYTES) {
      throw tooLargeBundle(`The bundle has more than ${MAX_UNPACKED_BYTES} bytes once it is unpacked.`);
    }
  }
  checkDistinct(entries.map(({ fileName }) => fileName));
  return entries;
}

function checkEntry(entry: Entry): void {
  const shown = JSON.stringify(entry.fileName);
  const kind = (entry.externalFileAttributes >>> 16) & KIND_MASK;
  if (kind !== 0 && kind !== REGULAR) throw invalidBundle(`${shown} is a link or a device. Send files alone.`);
  if (entry.isEncrypted()) throw invalidBundle(`${shown} is protected by a password. Remove it.`);
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw invalidBundle(`${shown} is compressed by method ${entry.compressionMethod}. Use "deflate".`);
  }
}
