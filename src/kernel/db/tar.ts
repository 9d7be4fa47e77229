/** The part of the tar format (POSIX ustar) that a store's folder needs: folders and plain files with short names. */

export interface TarEntry {
  /** Relative, with slashes. */
  readonly path: string;
  /** Undefined: a folder. */
  readonly content: Uint8Array | undefined;
}

const BLOCK_BYTES = 512;
const TYPE_FILE = '0';
const TYPE_FOLDER = '5';
const MAX_PATH_BYTES = 100;

/** The entries in order. Throws where the bytes are cut off or hold anything but folders and plain files. */
export function* readTar(tar: Uint8Array): Generator<TarEntry> {
  for (let at = 0; ; ) {
    if (at + BLOCK_BYTES > tar.length) throw new Error('the tar is cut off before its end');
    const header = tar.subarray(at, at + BLOCK_BYTES);
    // Two empty blocks end it.
    if (header[0] === 0) return;
    const path = readText(header, 0, MAX_PATH_BYTES);
    const bytes = Number.parseInt(readText(header, 124, 12), 8);
    const type = readText(header, 156, 1) || TYPE_FILE;
    const start = at + BLOCK_BYTES;
    if (Number.isNaN(bytes) || start + bytes > tar.length) throw new Error(`the tar is cut off at ${path}`);
    if (type !== TYPE_FILE && type !== TYPE_FOLDER) throw new Error(`${path} is neither a folder nor a plain file`);
    yield { path, content: type === TYPE_FOLDER ? undefined : tar.subarray(start, start + bytes) };
    at = start + Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
  }
}

/** The same entries give the same bytes: owner and time are left out. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content }) => [
    tarHeader(path, content),
    ...(content === undefined ? [] : [content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1))]),
  ]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function tarHeader(path: string, content: Uint8Array | undefined): Buffer {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new Error(`${path} is too long for a tar`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const writeOctal = (value: number, at: number, digits: number): number =>
    header.write(value.toString(8).padStart(digits, '0'), at);
  header.write(path, 0);
  writeOctal(content === undefined ? 0o700 : 0o600, 100, 7);
  writeOctal(0, 108, 7);
  writeOctal(0, 116, 7);
  writeOctal(content?.length ?? 0, 124, 11);
  writeOctal(0, 136, 11);
  header.write(content === undefined ? TYPE_FOLDER : TYPE_FILE, 156);
  header.write('ustar\0', 257);
  header.write('00', 263);
  // The checksum is taken with spaces in its own place.
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  writeOctal(sum, 148, 6);
  header.write('\0 ', 154);
  return header;
}

function readText(header: Uint8Array, at: number, bytes: number): string {
  const field = Buffer.from(header.buffer, header.byteOffset + at, bytes);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? bytes : end);
}
