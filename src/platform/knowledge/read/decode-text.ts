/**
 * Bytes of a text into characters as they come. What counts, in this order: a byte order mark (UTF-8, UTF-16), what the
 * bytes are (UTF-8, of which ASCII is a part), the declared charset, windows-1252.
 */
import { isUtf8 } from 'node:buffer';
import { DocumentError } from './document.ts';

const FALLBACK_CHARSET = 'windows-1252';

/** Yields well-formed text without NUL. Throws `invalid_file` where NUL bytes say that this is no text after all. */
export async function* decodeText(
  blocks: AsyncIterable<Buffer>,
  declaredCharset: string | undefined,
): AsyncGenerator<string> {
  let decode: ((block: Buffer) => string) | undefined;
  let finish = (): string => '';
  for await (const block of blocks) {
    if (decode === undefined) {
      const decoder = openDecoder(block, declaredCharset);
      decode = (part) => decoder.decode(part);
      finish = () => decoder.finish();
    }
    yield refuseNul(decode(block));
  }
  yield refuseNul(finish());
}

/** The charset of a media type or of an HTML page's meta element, where it names one. */
export function declaredCharset(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w:.-]+)/i.exec(text)?.[1];
}

interface Decoder {
  decode(block: Buffer): string;
  finish(): string;
}

function openDecoder(head: Buffer, declared: string | undefined): Decoder {
  const mark = head.length < 2 ? 0 : head.readUInt16BE(0);
  if (mark === 0xfffe) return streamDecoder('utf-16le');
  if (mark === 0xfeff) return streamDecoder('utf-16be');
  const label = knownCharset(declared);
  if (label?.startsWith('utf-16')) return streamDecoder(label);
  return new Utf8OrFallback(label === undefined || label === 'utf-8' ? FALLBACK_CHARSET : label);
}

function knownCharset(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // An unknown name is treated as none.
    return undefined;
  }
}

function streamDecoder(label: string): Decoder {
  const decoder = new TextDecoder(label);
  return {
    decode: (block) => decoder.decode(block, { stream: true }),
    finish: () => decoder.decode(),
  };
}

/**
 * UTF-8 as long as it is; from the first byte that is not, the fallback. Up to there all was ASCII, which both have in
 * common. Where characters of several bytes came before, the file is UTF-8 with damage: U+FFFD stands for what is lost.
 */
class Utf8OrFallback implements Decoder {
  readonly #fallbackCharset: string;
  #fallback: Decoder | undefined;
  #isUtf8 = false;
  #started = false;
  /** The first bytes of a character whose rest is still to come. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(fallbackCharset: string) {
    this.#fallbackCharset = fallbackCharset;
  }

  decode(block: Buffer): string {
    if (this.#fallback !== undefined) return this.#fallback.decode(block);
    const bytes = this.#rest.length === 0 ? block : Buffer.concat([this.#rest, block]);
    const complete = bytes.length - incompleteTail(bytes);
    const body = bytes.subarray(0, complete);
    if (!this.#isUtf8 && !isUtf8(body) && !mostlyUtf8(body)) {
      this.#fallback = streamDecoder(this.#fallbackCharset);
      return this.#fallback.decode(bytes);
    }
    // The rest is copied: the block is much larger, and would stay.
    this.#rest = Buffer.from(bytes.subarray(complete));
    const text = body.toString('utf8');
    if (!this.#isUtf8) this.#isUtf8 = text.length !== body.length;
    if (this.#started) return text;
    this.#started = body.length > 0;
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  finish(): string {
    if (this.#fallback !== undefined) return this.#fallback.finish();
    if (this.#rest.length === 0) return '';
    return this.#isUtf8 ? '\ufffd' : new TextDecoder(this.#fallbackCharset).decode(this.#rest);
  }
}

/** How many bytes at the end begin a character and do not complete it. */
function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

/** Whether more bytes form characters of UTF-8 than fail to. */
function mostlyUtf8(bytes: Buffer): boolean {
  let formed = 0;
  let failed = 0;
  for (const character of bytes.toString('utf8').match(/[\u0080-\uffff]/g) ?? []) {
    if (character === '\ufffd') failed++;
    else formed++;
  }
  return formed > failed;
}

function refuseNul(text: string): string {
  if (!text.includes('\0')) return text;
  throw new DocumentError(
    'invalid_file',
    'The file holds NUL bytes, so that it is no plain text, or is damaged. Send it as text in UTF-8.',
  );
}
