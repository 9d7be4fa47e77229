/**
 * Compressed answers. Answers of operations that read are compressed where they are large enough to gain from it; streams,
 * bytes with ranges and turns never are, and their routes have no hook that asks. Tokens travel in headers that no other
 * site can set, so a length that depends on the content (BREACH) tells nothing to anybody.
 */
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import compress, { type FastifyCompressOptions } from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import type { Operation } from './operation.ts';

/** Below this an answer fits into a packet or two anyway. */
export const COMPRESSION_THRESHOLD_BYTES = 2_048;

/** Levels at which a core compresses some 50 to 100 MB a second: beyond them it takes far longer for a few per cent. */
const options: FastifyCompressOptions = {
  encodings: ['br', 'gzip'],
  globalDecompression: false,
  threshold: COMPRESSION_THRESHOLD_BYTES,
  // In one go, which takes about half a millisecond, and with a length; larger answers are packed beside the event loop.
  syncThreshold: 32 * 1024,
  customTypes: /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|xml|javascript|x-yaml)|image\/svg\+xml)/,
  brotliOptions: { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } },
  zlibOptions: { level: 4 },
};

/** Compresses what the routes of this scope answer. */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  await app.register(compress, options);
}

/** Whether an operation's answers may be worth compressing. */
export function isCompressible<Caller>({ kind, answers, streams }: Operation<Caller>): boolean {
  return kind === 'read' && answers !== 'bytes' && streams === undefined;
}

type Encoding = 'br' | 'gzip';

/** A text that is asked for often: compressed once for each encoding, when it is first asked for, if it is large enough. */
export class CompressedText {
  readonly #text: Buffer;
  readonly #compressed = new Map<Encoding, Promise<Buffer>>();

  constructor(text: string) {
    this.#text = Buffer.from(text);
  }

  /** Of the text itself. */
  get byteLength(): number {
    return this.#text.byteLength;
  }

  /** The bytes in the best encoding that the header allows; without `encoding`, as they are. */
  async bytesFor(acceptEncoding: string | undefined): Promise<{ bytes: Buffer; encoding: Encoding | undefined }> {
    const isSmall = this.#text.byteLength < COMPRESSION_THRESHOLD_BYTES;
    const encoding = isSmall ? undefined : (['br', 'gzip'] as const).find((one) => accepts(acceptEncoding, one));
    if (encoding === undefined) return { bytes: this.#text, encoding };
    let bytes = this.#compressed.get(encoding);
    if (bytes === undefined) {
      bytes = encoding === 'br' ? toBrotli(this.#text) : toGzip(this.#text);
      this.#compressed.set(encoding, bytes);
    }
    return { bytes: await bytes, encoding };
  }
}

const toGzip = promisify<Buffer, Buffer>(gzip);
const brotli = promisify(brotliCompress);
const toBrotli = (text: Buffer) => brotli(text, { params: { [zlib.BROTLI_PARAM_QUALITY]: 6 } });

/** Whether `Accept-Encoding` names the encoding, and not with a weight of nothing. */
function accepts(header: string | undefined, encoding: string): boolean {
  return (header ?? '').split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
