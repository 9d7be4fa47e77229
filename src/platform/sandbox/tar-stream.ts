/** The tar that fills a box, and the one that comes out of it (POSIX ustar with GNU's long names), read as what strangers wrote. */

const BLOCK_BYTES = 512;
const MAX_NAME_BYTES = 100;
const TYPE_FILE = '0';
const TYPE_FOLDER = '5';
const TYPE_LINK = '2';
const TYPE_LONG_NAME = 'L';
const TYPE_LONG_TARGET = 'K';
const KEPT_TYPES: ReadonlySet<string> = new Set([TYPE_FILE, '\0', '', TYPE_FOLDER, TYPE_LINK]);
/** Longer ones could not be opened again. */
const MAX_PATH_BYTES = 4_000;
const EMPTY = Buffer.alloc(0);

/** The workspace cannot be kept; the message tells the model why. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceError';
}

export interface WorkspaceEntry {
  /** From the top of the tar: `workspace/output/report.pdf`. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  readonly bytes: number;
  /** As it stands in the tar: the blocks before the content. */
  readonly header: Buffer;
  /** With what fills the last block up; to be read to its end before the next entry. */
  content(): AsyncGenerator<Buffer>;
}

export interface TarLimits {
  /** Of the content of all entries together, as it is read. */
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/**
 * The files, folders and symbolic links of the tar; anything else is passed over. Throws WorkspaceError for more than the limits,
 * for paths that are too long, and for what is no tar.
 */
export async function* readTarStream(
  source: ByteReader,
  { maxBytes, maxEntries }: TarLimits,
): AsyncGenerator<WorkspaceEntry> {
  let total = 0;
  let entries = 0;
  let prefix = EMPTY;
  let longName: Buffer | undefined;
  for (;;) {
    const block = await source.read(BLOCK_BYTES);
    if (block.length < BLOCK_BYTES) throw new WorkspaceError('the workspace came out of the box incomplete');
    // Two empty blocks end it.
    if (block[0] === 0) return;
    const type = block.toString('latin1', 156, 157);
    const bytes = Number.parseInt(textOf(block.subarray(124, 136)).toString('latin1').trim(), 8);
    if (!(bytes >= 0)) throw new WorkspaceError('the workspace came out of the box damaged');
    const paddedBytes = Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
    if (type === TYPE_LONG_NAME || type === TYPE_LONG_TARGET) {
      if (bytes > MAX_PATH_BYTES) throw new WorkspaceError(`a path is longer than ${MAX_PATH_BYTES} bytes`);
      const content = await source.read(paddedBytes);
      prefix = Buffer.concat([prefix, block, content]);
      if (type === TYPE_LONG_NAME) longName = textOf(content.subarray(0, bytes));
      continue;
    }
    total += bytes;
    entries += 1;
    if (total > maxBytes) throw new WorkspaceError(`its files are larger than ${maxBytes} bytes together`);
    if (entries > maxEntries) throw new WorkspaceError(`it has more than ${maxEntries} files and folders`);
    const header = Buffer.concat([prefix, block]);
    const name = longName ?? textOf(block.subarray(0, MAX_NAME_BYTES));
    prefix = EMPTY;
    longName = undefined;
    if (!KEPT_TYPES.has(type)) {
      for await (const _ of source.stream(paddedBytes));
      continue;
    }
    const kind = type === TYPE_FOLDER ? 'folder' : type === TYPE_LINK ? 'link' : 'file';
    let isRead = false;
    const content = () => {
      isRead = true;
      return source.stream(paddedBytes);
    };
    yield { path: name.toString('utf8'), kind, bytes, header, content };
    if (!isRead) for await (const _ of source.stream(paddedBytes));
  }
}

/** Up to the first NUL. */
function textOf(field: Buffer): Buffer {
  const end = field.indexOf(0);
  return end === -1 ? field : field.subarray(0, end);
}

/** Two empty blocks. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

/** What stands before the content of a file. */
export function tarFileHeader(path: string, bytes: number): Buffer {
  const name = Buffer.from(path);
  if (name.length <= MAX_NAME_BYTES) return headerBlock(name, bytes, TYPE_FILE);
  const named = Buffer.concat([name, Buffer.alloc(1)]);
  return Buffer.concat([
    headerBlock(Buffer.from('././@LongLink'), named.length, TYPE_LONG_NAME),
    ...[named, tarPadding(named.length)],
    headerBlock(name.subarray(0, MAX_NAME_BYTES), bytes, TYPE_FILE),
  ]);
}

/** What fills the last block of a content up. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc(-bytes & (BLOCK_BYTES - 1));
}

function headerBlock(name: Buffer, bytes: number, type: string): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const writeOctal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, '0'), at);
  name.copy(block);
  writeOctal(0o644, 100, 7);
  writeOctal(0, 108, 7);
  writeOctal(0, 116, 7);
  writeOctal(bytes, 124, 11);
  writeOctal(0, 136, 11);
  block.write(type, 156);
  block.write('ustar  \0', 257, 'latin1');
  // The checksum is taken with spaces in its own place.
  block.fill(' ', 148, 156);
  writeOctal(
    block.reduce((total, byte) => total + byte, 0),
    148,
    6,
  );
  block.write('\0 ', 154, 'latin1');
  return block;
}

/** Takes a stream of bytes apart. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = EMPTY;

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** So many bytes, or fewer where the stream ends before. */
  async read(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(bytes)) parts.push(part);
    const [only = EMPTY] = parts;
    return parts.length <= 1 ? only : Buffer.concat(parts);
  }

  /** The same, piece by piece. */
  async *stream(bytes: number): AsyncGenerator<Buffer> {
    let left = bytes;
    while (left > 0) {
      if (this.#rest.length === 0 && !(await this.#next())) return;
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** Up to the next line feed, which is left out; what there is where none comes within these bytes. */
  async readLine(maxBytes: number): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(0x0a);
      if (end !== -1 || this.#rest.length > maxBytes || !(await this.#next())) {
        const line = end === -1 ? this.#rest : this.#rest.subarray(0, end);
        this.#rest = this.#rest.subarray(end === -1 ? this.#rest.length : end + 1);
        return line.toString('latin1');
      }
    }
  }

  async #next(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}
