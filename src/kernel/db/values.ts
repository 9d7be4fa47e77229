/**
 * How values travel to and from SQL, alike for both stores (both speak PostgreSQL's wire protocol through `pg`).
 *
 * To SQL:  JS arrays become SQL arrays, `Date` timestamptz, `Uint8Array` bytea, `undefined` null. jsonb takes text: wrap
 *          what goes there in `json(...)`. A plain object is refused, because the same code would store an array as a
 *          SQL array and an object as JSON. PostgreSQL text cannot hold U+0000: it becomes U+FFFD.
 * From SQL: int8 → number (exact to 2^53; cast to text beyond), numeric → string, timestamptz and timestamp → Date (the
 *          latter read as UTC), date and interval → string, json and jsonb parsed, bytea → Uint8Array, arrays → arrays.
 */

import pg from 'pg';
import { ownIteration } from '../event-loop/own-iteration.ts';

/** JSON text for a jsonb parameter. U+0000 and lone surrogates, which jsonb cannot hold, become U+FFFD. */
export function json(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError('json(): the value has no JSON form; pass null for "nothing"');
  if (text.length >= LARGE_JSON_CHARS) {
    const storable = makeStorable(value);
    return storable === value ? text : JSON.stringify(storable);
  }
  if (!text.includes('\\u0000') && !text.includes('\\ud')) return text;
  return text.includes('\\\\') ? replaceUnescaped(text) : text.replace(UNSTORABLE, REPLACEMENT);
}

/** Characters of JSON from which on it travels as bytes. */
const LARGE_JSON_CHARS = 256 * 1024;
/** The version of jsonb's binary format, whose rest is the text. */
const JSONB_VERSION = 1;

/**
 * As `json`, for a value that may be megabytes: what is large is made, and turned into bytes, in turns of the event loop of
 * its own, so that a statement with several such values holds up nobody. For a parameter that PostgreSQL takes for jsonb.
 */
export async function largeJson(value: unknown): Promise<string | Uint8Array> {
  return toParameter(await largeJsonText(value));
}

/** The text of one of several values that travel as one list. */
export async function largeJsonText(value: unknown): Promise<string> {
  const text = json(value);
  if (text.length >= LARGE_JSON_CHARS) await ownIteration();
  return text;
}

/** The list of what the texts say, as `largeJson`. */
export function largeJsonList(texts: readonly string[]): Promise<string | Uint8Array> {
  return toParameter(`[${texts.join(',')}]`);
}

async function toParameter(text: string): Promise<string | Uint8Array> {
  if (text.length < LARGE_JSON_CHARS) return text;
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = JSONB_VERSION;
  bytes.write(text, 1);
  await ownIteration();
  return bytes;
}

/**
 * The value with text that jsonb can hold; itself, where it holds no other. To look for what is wrong in megabytes of JSON
 * takes far longer than in the texts that it was made of: escapes may be anywhere in it.
 */
function makeStorable(value: unknown): unknown {
  if (typeof value === 'string') return makeStorableText(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(makeStorable);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  // What says itself how it is written, such as a URL.
  if (prototype !== Object.prototype && prototype !== null) return makeStorable(JSON.parse(JSON.stringify(value)));
  let isChanged = false;
  const members = Object.entries(value).map(([name, member]) => {
    const storable = [makeStorableText(name), makeStorable(member)] as const;
    isChanged ||= storable[0] !== name || storable[1] !== member;
    return storable;
  });
  return isChanged ? Object.fromEntries(members) : value;
}

function makeStorableText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text;
  return replaceNul(text.toWellFormed());
}

/** In place: to replace a million characters one match at a time takes several times as long. */
function replaceNul(text: string): string {
  const units = new Uint16Array(text.length);
  const bytes = Buffer.from(units.buffer);
  bytes.write(text, 'utf16le');
  for (let at = 0; at < units.length; at += 1) if (units[at] === 0) units[at] = REPLACEMENT_UNIT;
  return bytes.toString('utf16le');
}

const REPLACEMENT_UNIT = 0xfffd;

/** As JSON.stringify writes them. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/g;
const REPLACEMENT = '\\ufffd';

/** An escaped backslash followed by "u0000" is text and stays. No function for each escape: a text may have millions. */
function replaceUnescaped(text: string): string {
  let replaced = '';
  let from = 0;
  for (const { 0: found, index } of text.matchAll(UNSTORABLE)) {
    if (isEscaped(text, index)) continue;
    replaced += text.slice(from, index) + REPLACEMENT;
    from = index + found.length;
  }
  return replaced + text.slice(from);
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (first > 0 && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

const BACKSLASH = 0x5c;

/** Parameters in the shapes that `pg` serializes predictably. Throws TypeError on a plain object. */
export function encodeValues(values: readonly unknown[]): unknown[] {
  const encoded = new Array<unknown>(values.length);
  for (let index = 0; index < values.length; index += 1) encoded[index] = encodeValue(values[index], index);
  return encoded;
}

function encodeValue(value: unknown, index: number): unknown {
  switch (typeof value) {
    case 'string':
      return value.includes('\0') ? replaceNul(value) : value;
    case 'object':
      if (value === null || value instanceof Date || ArrayBuffer.isView(value)) return value;
      if (Array.isArray(value)) return value.map((item: unknown) => encodeValue(item, index));
      throw new TypeError(`SQL parameter $${index + 1} is a plain object: wrap it in json(...) for a jsonb column`);
    case 'function':
    case 'symbol':
      throw new TypeError(`SQL parameter $${index + 1} is a ${typeof value}: pass a value`);
    default:
      return value;
  }
}

type TextParser = (text: string) => unknown;

const oid = {
  int8: 20,
  int8Array: 1016,
  numericArray: 1231,
  date: 1082,
  dateArray: 1182,
  timestamp: 1114,
  timestampArray: 1115,
  interval: 1186,
  intervalArray: 1187,
} as const;

// Typed wide because `pg-types` has no name for it.
const textArrayOid: number = 1009;

const asText: TextParser = (text) => text;
const asUtcDate: TextParser = (text) => (text.endsWith('infinity') ? text : new Date(`${text.replace(' ', 'T')}Z`));

function arrayOf(parse: TextParser): TextParser {
  const parseTexts: TextParser = pg.types.getTypeParser(textArrayOid);
  const parseItem = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(parseItem);
    return typeof item === 'string' ? parse(item) : null;
  };
  return (text) => parseItem(parseTexts(text));
}

const parsers = new Map<number, TextParser>([
  [oid.int8, Number],
  [oid.int8Array, arrayOf(Number)],
  [oid.numericArray, arrayOf(asText)],
  [oid.date, asText],
  [oid.dateArray, arrayOf(asText)],
  [oid.timestamp, asUtcDate],
  [oid.timestampArray, arrayOf(asUtcDate)],
  [oid.interval, asText],
  [oid.intervalArray, arrayOf(asText)],
]);

/** The column parsers, in the form that a `pg` client takes as `types`. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(id, format) {
    const parser = format === 'binary' ? undefined : parsers.get(id);
    return parser ?? pg.types.getTypeParser(id, format);
  },
};
