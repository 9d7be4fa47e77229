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

/** JSON text for a jsonb parameter. U+0000 and lone surrogates, which jsonb cannot hold, become U+FFFD. */
export function json(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError('json(): the value has no JSON form; pass null for "nothing"');
  if (!text.includes('\\u0000') && !text.includes('\\ud')) return text;
  return text.includes('\\\\') ? replaceUnescaped(text) : text.replace(UNSTORABLE, REPLACEMENT);
}

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
      return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
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
