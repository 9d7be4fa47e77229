/** What a command writes out, as far as it is kept, without the values of secrets. */
import type { Readable } from 'node:stream';

const MASK = '***';
/** Shorter values would be found everywhere, and say nothing. */
const MIN_MASKED_LENGTH = 4;

export interface CollectedText {
  readonly text: string;
  readonly truncated: boolean;
}

/** Reads a stream to its end and keeps its first bytes. */
export class OutputCollector {
  readonly #chunks: Buffer[] = [];
  readonly #limitBytes: number;
  readonly #secrets: readonly string[];
  readonly #keptBytes: number;
  #bytes = 0;

  constructor(stream: Readable, limitBytes: number, secrets: Iterable<string>) {
    this.#limitBytes = limitBytes;
    // The longest first: one may be a part of another.
    this.#secrets = [...new Set(secrets)]
      .filter(({ length }) => length >= MIN_MASKED_LENGTH)
      .sort((one, other) => other.length - one.length);
    // What the limit cuts through is masked, too.
    this.#keptBytes = limitBytes + Buffer.byteLength(this.#secrets[0] ?? '');
    stream.on('data', (chunk: Buffer) => {
      const room = this.#keptBytes - this.#bytes;
      if (room > 0) this.#chunks.push(chunk.subarray(0, room));
      this.#bytes += chunk.length;
    });
  }

  collect(): CollectedText {
    // NUL is the one character that the store does not take in texts.
    let text = Buffer.concat(this.#chunks).toString('utf8').replaceAll('\0', '\uFFFD');
    for (const secret of this.#secrets) text = text.replaceAll(secret, MASK);
    const truncated = this.#bytes > this.#limitBytes;
    return { text: truncated ? cutToBytes(text, this.#limitBytes) : text, truncated };
  }
}

/** As many whole characters as fit. */
function cutToBytes(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return text;
  return new TextDecoder().decode(bytes.subarray(0, limitBytes), { stream: true });
}
