/** A zone file (RFC 1035 5, `$TTL` of RFC 2308 4) as records that a zone here may have. */
import { badRecord } from '../records/bad-record.ts';
import { readSubdomain } from '../records/domain-names.ts';
import { isRecordType, type RecordType, recordKinds, recordTypes } from '../records/record-kinds.ts';
import { onLine } from './bad-file.ts';
import { type Entry, readEntries } from './read-entries.ts';
import { absolute, readValue } from './record-values.ts';

export interface FileRecord {
  readonly line: number;
  readonly subdomain: string;
  readonly type: RecordType;
  /** Canonical. */
  readonly value: string;
  /** Seconds, within the limits of a zone here. Absent where neither the record nor the file says one. */
  readonly ttl?: number;
}

export interface ZoneFile {
  readonly records: readonly FileRecord[];
  /** How many records were left out of each type that the service makes itself. */
  readonly skipped: ReadonlyMap<string, number>;
}

export interface ZoneFileLimits {
  readonly records: number;
  readonly shortestTtl: number;
  readonly longestTtl: number;
}

/** What a zone begins with, and what signing adds. */
const madeHere: ReadonlySet<string> = new Set([
  'SOA',
  'RRSIG',
  'DNSKEY',
  'NSEC',
  'NSEC3',
  'NSEC3PARAM',
  'CDS',
  'CDNSKEY',
  'ZONEMD',
]);

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const TTL = /^(?:\d+|(?:\d+[smhdw])+)$/i;
const CLASS = /^(?:IN|CH|HS|CS)$/i;

/** What later entries are read by. */
interface State {
  origin: string;
  owner: string | undefined;
  ttl: number | undefined;
  hasDefaultTtl: boolean;
}

/** Throws `bad_request`, which names the line at fault. */
export function readZoneFile(text: string, zoneName: string, limits: ZoneFileLimits): ZoneFile {
  const records: FileRecord[] = [];
  const skipped = new Map<string, number>();
  const state: State = { origin: `${zoneName}.`, owner: undefined, ttl: undefined, hasDefaultTtl: false };
  const addRecord = (entry: Entry) => {
    const { owner, ttl, type, words } = readHead(entry, state);
    const subdomain = readSubdomain(owner, zoneName);
    if (madeHere.has(type) || (type === 'NS' && subdomain === '@')) {
      skipped.set(type, (skipped.get(type) ?? 0) + 1);
      return;
    }
    if (records.length >= limits.records) {
      throw badRecord('zone_file', `The file has more than ${limits.records} records, as many as a zone may have.`);
    }
    if (!isRecordType(type)) throw unknownType(type);
    const value = recordKinds[type].canonical({ value: readValue(type, words, state.origin) }, zoneName);
    const kept = ttl === undefined ? {} : { ttl: Math.min(Math.max(ttl, limits.shortestTtl), limits.longestTtl) };
    records.push({ line: entry.line, subdomain, type, value, ...kept });
  };
  for (const entry of readEntries(text)) {
    onLine(entry.line, () => (isDirective(entry) ? followDirective(entry, state) : addRecord(entry)));
  }
  return { records, skipped };
}

function isDirective({ hasOwner, words }: Entry): boolean {
  return hasOwner && words[0]?.startsWith('$') === true;
}

function followDirective({ words }: Entry, state: State): void {
  const [directive = '', argument = ''] = words;
  if (directive.toUpperCase() === '$ORIGIN' && argument !== '') {
    state.origin = absolute(argument, state.origin);
  } else if (directive.toUpperCase() === '$TTL' && TTL.test(argument)) {
    state.ttl = toSeconds(argument);
    state.hasDefaultTtl = true;
  } else {
    throw badRecord(
      'zone_file',
      'Of the lines that begin with $ there may be $ORIGIN with a name and $TTL with a time.',
    );
  }
}

/** The name, TTL, class and type that a record begins with; TTL and class in either order. */
function readHead(entry: Entry, state: State) {
  const words = [...entry.words];
  if (entry.hasOwner) state.owner = absolute(words.shift() ?? '@', state.origin);
  if (state.owner === undefined) throw badRecord('zone_file', 'The first record of a file begins with its name.');
  let ttl: number | undefined;
  let hasClass = false;
  for (;;) {
    const word = words[0] ?? '';
    if (ttl === undefined && TTL.test(word)) ttl = toSeconds(word);
    else if (!hasClass && CLASS.test(word)) hasClass = requireInternet(word);
    else break;
    words.shift();
  }
  // RFC 1035 5.1: without $TTL a record has that of the one before.
  if (ttl !== undefined && !state.hasDefaultTtl) state.ttl = ttl;
  const type = (words.shift() ?? '').toUpperCase();
  if (type === '') throw badRecord('zone_file', 'A record has a name, a type and a value.');
  return { owner: state.owner, ttl: ttl ?? state.ttl, type, words };
}

function requireInternet(word: string): true {
  if (word.toUpperCase() !== 'IN')
    throw badRecord('zone_file', `Records are of the class IN; there is no ${word} here.`);
  return true;
}

function toSeconds(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  let seconds = 0;
  for (const [, count, unit = 's'] of text.toLowerCase().matchAll(/(\d+)([smhdw])/g)) {
    seconds += Number(count) * (UNIT_SECONDS[unit] ?? 1);
  }
  return seconds;
}

function unknownType(type: string) {
  const shown = /^[A-Z0-9-]{1,20}$/.test(type) ? type : 'this';
  return badRecord(
    'zone_file',
    `Records of the type ${shown} are not kept here. Take it out; there may be ${recordTypes.join(', ')}.`,
  );
}
