/**
 * The text of values in a zone file (RFC 1035 5.1): words, quoted strings, `\"` and `\DDD`. Bytes are kept as Latin-1
 * strings: one character a byte.
 */
import { badRecord } from './bad-record.ts';

export interface Word {
  /** Its bytes, unescaped. */
  readonly bytes: string;
  readonly isQuoted: boolean;
}

const ESCAPE = /\\(?:(\d{3})|([\s\S]))/g;
const WORD = /\s*(?:"((?:[^"\\]|\\[\s\S])*)"(?=\s|"|$)|((?:[^\s"\\]|\\[\s\S])+)(?=\s|$))/y;

/** Throws `bad_request` for a quote that is not closed or stands inside a word, and for an escape above 255. */
export function readWords(text: string): Word[] {
  const words: Word[] = [];
  WORD.lastIndex = 0;
  const end = text.trimEnd().length;
  while (WORD.lastIndex < end) {
    const found = WORD.exec(text);
    if (found === null) {
      throw badRecord(
        'value',
        'Quotes do not match: a string begins and ends with ", and a " inside of it is written \\".',
      );
    }
    const [, quoted, plain] = found;
    words.push({ bytes: unescapeText(quoted ?? plain ?? ''), isQuoted: quoted !== undefined });
  }
  return words;
}

function unescapeText(text: string): string {
  let bytes = '';
  let from = 0;
  for (const found of text.matchAll(ESCAPE)) {
    const [whole, decimal, character] = found;
    bytes += toBytes(text.slice(from, found.index));
    bytes += decimal === undefined ? toBytes(character ?? '') : byteOf(decimal);
    from = found.index + whole.length;
  }
  return bytes + toBytes(text.slice(from));
}

function byteOf(decimal: string): string {
  const code = Number(decimal);
  if (code > 255) throw badRecord('value', `\\${decimal} is no byte: an escape goes from \\000 to \\255.`);
  return String.fromCharCode(code);
}

/** UTF-8, one character a byte. */
export function toBytes(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** A quoted string of printable ASCII; other bytes become `\DDD`, as `dig` prints them. */
export function quote(bytes: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to be escaped.
  const escaped = bytes.replace(/["\\]|[\x00-\x1f\x7f-\xff]/g, (byte) =>
    byte === '"' || byte === '\\' ? `\\${byte}` : `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
