/**
 * Values of a zone file as `recordKinds` takes them. There a host is a whole name and text without quotes is one string;
 * in a file names may be relative to the origin, and each word of a text is a string.
 */
import { badRecord, shorten } from '../records/bad-record.ts';
import type { RecordType } from '../records/record-kinds.ts';

/** Which word of a value is a host. */
const hostWords: Readonly<Partial<Record<RecordType, number>>> = {
  ALIAS: 0,
  CNAME: 0,
  HTTPS: 1,
  MX: 1,
  NAPTR: 5,
  NS: 0,
  PTR: 0,
  SRV: 3,
  SVCB: 1,
};

/** `origin` ends with a dot. */
export function readValue(type: RecordType, words: readonly string[], origin: string): string {
  if (type === 'TXT') return words.map((word) => (word.startsWith('"') ? word : `"${word}"`)).join(' ');
  const hostAt = hostWords[type];
  return words.map((word, at) => (at === hostAt ? absolute(word, origin) : word)).join(' ');
}

/** A whole name, with its last dot. */
export function absolute(name: string, origin: string): string {
  if (/["\\]/.test(name))
    throw badRecord('zone_file', `Names have no quotes and no escapes here, as ${shorten(name)} has.`);
  if (name === '@') return origin;
  if (name.endsWith('.')) return name;
  return origin === '.' ? `${name}.` : `${name}.${origin}`;
}
