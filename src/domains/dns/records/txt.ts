/** TXT: character-strings of at most 255 bytes each (RFC 1035 3.3.14). */
import { badRecord } from './bad-record.ts';
import { quote, readWords, toBytes } from './zone-text.ts';

const LONGEST_STRING = 255;
/** What a record may hold in all: a 4,096-bit DKIM key is about 800 bytes, and answers have to stay small. */
const LONGEST_TEXT = 4_096;

/**
 * The strings of a value, one character a byte. Text that begins with a quote is read as in a zone file; any other is the
 * text itself. Strings that are too long are split.
 */
export function readTxt(value: string): string[] {
  const strings = value.trimStart().startsWith('"') ? readQuoted(value) : [toBytes(value)];
  const length = strings.reduce((sum, string) => sum + string.length, 0);
  if (length > LONGEST_TEXT) {
    throw badRecord('value', `The text has ${length} bytes and may have ${LONGEST_TEXT}. Shorten it.`);
  }
  return strings.flatMap(split);
}

export function writeTxt(strings: readonly string[]): string {
  return strings.map(quote).join(' ');
}

function readQuoted(value: string): string[] {
  return readWords(value).map(({ bytes, isQuoted }) => {
    if (!isQuoted) throw badRecord('value', 'Put every string of the text in quotes, or send the text without quotes.');
    return bytes;
  });
}

function split(string: string): string[] {
  if (string.length <= LONGEST_STRING) return [string];
  const parts: string[] = [];
  for (let at = 0; at < string.length; at += LONGEST_STRING) parts.push(string.slice(at, at + LONGEST_STRING));
  return parts;
}
