/** The bytes of one file, taken from the source as the reading goes on, within a limit. */
import { DocumentError } from './document.ts';

/** The next bytes, in order; undefined after the last. */
export type ReadBlock = () => Promise<Uint8Array | undefined>;

/** Enough to tell formats apart by their beginning. */
const HEAD_BYTES = 65_536;
const MEBIBYTE = 1_048_576;

export class DocumentInput {
  readonly #read: ReadBlock;
  readonly #head: Uint8Array[] = [];

  constructor(read: ReadBlock) {
    this.#read = read;
  }

  /** The first bytes: all of a small file. They are still to come from `blocks` and `whole`. Call it once. */
  async head(): Promise<Buffer> {
    let bytes = 0;
    while (bytes < HEAD_BYTES) {
      const block = await this.#read();
      if (block === undefined) break;
      bytes += block.length;
      this.#head.push(block);
    }
    return Buffer.concat(this.#head);
  }

  /** Every block in order. Throws `invalid_file` past `maxBytes`. */
  async *blocks(maxBytes: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    for (;;) {
      const block = this.#head.shift() ?? (await this.#read());
      if (block === undefined) return;
      bytes += block.length;
      if (bytes > maxBytes) {
        const limit = `${Math.floor(maxBytes / MEBIBYTE)} MiB`;
        throw new DocumentError('invalid_file', `A file of this format can have ${limit} at most. Split it up.`);
      }
      yield Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    }
  }

  /** The whole file in memory. Throws `invalid_file` past `maxBytes`. */
  async whole(maxBytes: number): Promise<Buffer> {
    const blocks: Buffer[] = [];
    for await (const block of this.blocks(maxBytes)) blocks.push(block);
    return Buffer.concat(blocks);
  }
}
