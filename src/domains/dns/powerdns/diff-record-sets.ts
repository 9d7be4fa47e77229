/** What has to change at PowerDNS for it to serve what our rows say: whole sets, in batches of bounded size. */
import type { RecordSet } from '../publisher.ts';
import { contentKey, toPowerDns } from './record-content.ts';

/** A record set as the API has it; names are absolute, with the last dot. */
export interface ServedRecordSet {
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly records: readonly { readonly content: string; readonly disabled?: boolean }[];
}

export interface RecordSetChange {
  readonly name: string;
  readonly type: string;
  readonly changetype: 'REPLACE' | 'DELETE';
  readonly ttl?: number;
  readonly records?: readonly { readonly content: string; readonly disabled: false }[];
}

/** A request stays far below the 2 MB that the server takes by default (webserver-max-bodysize). */
const BATCH_CHANGES = 500;
const BATCH_BYTES = 512 * 1024;

export function toServed({ name, type, ttl, values }: RecordSet): ServedRecordSet {
  const records = values.map((value) => ({ content: toPowerDns(type, value), disabled: false }));
  return { name: `${name}.`, type, ttl, records };
}

/**
 * Changes that make `served` equal to `wanted`, none when it is. Changes of one name follow one another, and what is
 * deleted goes first: PowerDNS refuses a CNAME beside anything else, in between too. The SOA comes last, so that a new
 * serial stands for a zone that is complete.
 */
export function diffRecordSets(served: readonly ServedRecordSet[], wanted: readonly RecordSet[]): RecordSetChange[] {
  const current = new Map(served.map((set) => [keyOf(set.name, set.type), set]));
  const changes: RecordSetChange[] = [];
  for (const set of wanted) {
    const replacement = toServed(set);
    const key = keyOf(replacement.name, set.type);
    const existing = current.get(key);
    current.delete(key);
    if (existing === undefined || !isEqual(existing, replacement)) changes.push(replace(replacement));
  }
  for (const { name, type } of current.values()) changes.push({ name: name.toLowerCase(), type, changetype: 'DELETE' });
  return changes.sort(compareChanges);
}

/** Batches that never part changes of one name: each is one transaction of the server, and no name is seen half changed. */
export function batchChanges(changes: readonly RecordSetChange[]): RecordSetChange[][] {
  const batches: RecordSetChange[][] = [];
  let batch: RecordSetChange[] = [];
  let bytes = 0;
  for (const [index, change] of changes.entries()) {
    const isNewName = changes[index - 1]?.name !== change.name;
    if (isNewName && batch.length > 0 && (batch.length >= BATCH_CHANGES || bytes >= BATCH_BYTES)) {
      batches.push(batch);
      [batch, bytes] = [[], 0];
    }
    batch.push(change);
    bytes += JSON.stringify(change).length;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

function replace({ name, type, ttl, records }: ServedRecordSet): RecordSetChange {
  const enabled = records.map(({ content }) => ({ content, disabled: false as const }));
  return { name, type, changetype: 'REPLACE', ttl, records: enabled };
}

function isEqual(served: ServedRecordSet, wanted: ServedRecordSet): boolean {
  if (served.ttl !== wanted.ttl || served.records.length !== wanted.records.length) return false;
  if (served.records.some(({ disabled }) => disabled === true)) return false;
  const keys = contentKeys(served);
  return contentKeys(wanted).every((key, index) => key === keys[index]);
}

function contentKeys({ type, records }: ServedRecordSet): string[] {
  return records.map(({ content }) => contentKey(type, content)).sort();
}

function keyOf(name: string, type: string): string {
  return `${name.toLowerCase()} ${type}`;
}

function compareChanges(a: RecordSetChange, b: RecordSetChange): number {
  return Number(a.type === 'SOA') - Number(b.type === 'SOA') || compareTexts(a.name, b.name) || order(a) - order(b);
}

function order({ changetype }: RecordSetChange): number {
  return changetype === 'DELETE' ? 0 : 1;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
