/** Several changes of a zone's records as one: what counts is what the zone has afterwards, so their order does not matter. */
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { canonicalRecord, DEFAULT_TTL, lockOrOpenZone, type NamedRecord, type NewRecord } from './change-zone.ts';
import { badRecord } from './records/bad-record.ts';
import { checkPlacement } from './records/check-placement.ts';
import { readSubdomain } from './records/domain-names.ts';
import type { RecordInput } from './records/record-input.ts';
import { isRecordType, recordKinds } from './records/record-kinds.ts';
import { type PlannedRecord, type SavedChanges, saveRecords } from './save-records.ts';
import { listRecords, type StoredRecord, type ZoneRef } from './zone-store.ts';

/** What is absent stays as it is. Numbers beside the value come with it, or not at all. */
export interface RecordUpdate extends Partial<RecordInput> {
  readonly id: string;
  readonly subdomain?: string;
  readonly ttl?: number;
}

export type RecordChange =
  | { readonly action: 'create'; readonly record: NewRecord }
  | { readonly action: 'update'; readonly record: RecordUpdate }
  | { readonly action: 'delete'; readonly record: NamedRecord | { readonly id: string } };

export interface ChangedRecords extends SavedChanges {
  /** One for each change: as it is now; what was deleted as it was. */
  readonly records: readonly StoredRecord[];
}

interface Plan {
  /** Undefined: it is deleted. */
  readonly after: PlannedRecord | undefined;
  readonly before: StoredRecord | undefined;
  readonly ttl: number | undefined;
}

/** Throws `bad_request` and `not_found`, whose details have the position of the change at fault; then nothing has changed. */
export function changeRecords(
  tx: Transaction,
  zone: ZoneRef,
  changes: readonly RecordChange[],
): Promise<ChangedRecords> {
  return apply(tx, zone, changes, inPosition);
}

/** One record as it is afterwards. Throws `bad_request` and `not_found`. */
export async function updateRecord(tx: Transaction, zone: ZoneRef, record: RecordUpdate): Promise<StoredRecord> {
  const [updated] = (await apply(tx, zone, [{ action: 'update', record }], (_, error) => error)).records;
  if (updated === undefined) throw new Error('an update gave no record');
  return updated;
}

type Locate = (index: number, error: ApiError) => ApiError;

async function apply(
  tx: Transaction,
  zone: ZoneRef,
  changes: readonly RecordChange[],
  locate: Locate,
): Promise<ChangedRecords> {
  await lockOrOpenZone(tx, zone);
  const before = await listRecords(tx, zone);
  const plans = changes.map((change, index) => inChange(locate, index, () => planChange(zone, before, change)));
  const touched = touchedBy(plans);
  const planned: PlannedRecord[] = before.filter(({ id }) => !touched.has(id));
  for (const [index, { after }] of plans.entries()) {
    if (after === undefined) continue;
    inChange(locate, index, () => checkPlacement(planned, after, zone.name));
    planned.push(after);
  }
  const saved = await saveRecords(tx, zone, before, withTtls(before, planned, plans));
  const now = new Map((await listRecords(tx, zone)).map((record) => [record.id, record]));
  const records = plans.map((plan) => (plan.after === undefined ? plan.before : now.get(plan.after.id)));
  return { ...saved, records: records.filter((record) => record !== undefined) };
}

/** Each record at most once. */
function touchedBy(plans: readonly Plan[]): ReadonlySet<string> {
  const touched = new Set<string>();
  for (const [index, { before }] of plans.entries()) {
    if (before === undefined) continue;
    if (touched.has(before.id)) throw inPosition(index, badRecord('id', 'Another change is of this record. Send one.'));
    touched.add(before.id);
  }
  return touched;
}

function planChange(zone: ZoneRef, before: readonly StoredRecord[], change: RecordChange): Plan {
  switch (change.action) {
    case 'create': {
      const ttl = change.record.ttl;
      const after = { id: mintId('rec'), ...canonicalRecord(zone, change.record), ttl: ttl ?? DEFAULT_TTL };
      return { before: undefined, after, ttl };
    }
    case 'update':
      return planUpdate(
        zone,
        find(before, ({ id }) => id === change.record.id),
        change.record,
      );
    case 'delete': {
      const { record } = change;
      if ('id' in record)
        return { before: find(before, ({ id }) => id === record.id), after: undefined, ttl: undefined };
      const named = canonicalRecord(zone, record);
      const isNamed = ({ subdomain, type, value }: StoredRecord) =>
        subdomain === named.subdomain && type === named.type && value === named.value;
      return { before: find(before, isNamed), after: undefined, ttl: undefined };
    }
  }
}

function planUpdate(
  zone: ZoneRef,
  before: StoredRecord,
  { id: _, subdomain, ttl, value, ...numbers }: RecordUpdate,
): Plan {
  const [number] = Object.entries(numbers).find(([, given]) => given !== undefined) ?? [];
  if (value === undefined && number !== undefined) throw badRecord('value', `Send \`value\` together with ${number}.`);
  if (!isRecordType(before.type)) throw new Error(`the record ${before.id} is of an unknown type`);
  const after = {
    ...before,
    subdomain: subdomain === undefined ? before.subdomain : readSubdomain(subdomain, zone.name),
    value: value === undefined ? before.value : recordKinds[before.type].canonical({ value, ...numbers }, zone.name),
    ttl: ttl ?? before.ttl,
  };
  return { before, after, ttl };
}

function find(records: readonly StoredRecord[], isIt: (record: StoredRecord) => boolean): StoredRecord {
  const found = records.find(isIt);
  if (found === undefined) {
    throw new ApiError('not_found', { message: 'The zone has no such record. GET …/zone lists what it has.' });
  }
  return found;
}

/** All records of a name and type have one TTL (RFC 2181 5.2): the last that is given, or the one that those there have. */
function withTtls(
  before: readonly StoredRecord[],
  planned: readonly PlannedRecord[],
  plans: readonly Plan[],
): PlannedRecord[] {
  const ttls = new Map(before.map((record) => [setOf(record), record.ttl]));
  for (const { after } of plans) if (after !== undefined && !ttls.has(setOf(after))) ttls.set(setOf(after), after.ttl);
  for (const { after, ttl } of plans) if (after !== undefined && ttl !== undefined) ttls.set(setOf(after), ttl);
  return planned.map((record) => ({ ...record, ttl: ttls.get(setOf(record)) ?? record.ttl }));
}

function setOf({ subdomain, type }: { readonly subdomain: string; readonly type: string }): string {
  return `${subdomain} ${type}`;
}

function inChange<T>(locate: Locate, index: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ApiError ? locate(index, error) : error;
  }
}

function inPosition(index: number, { code, message, detail }: ApiError): ApiError {
  return new ApiError(code, {
    ...detail,
    message: `Change ${index}: ${message}`,
    details: { ...detail.details, change: index },
  });
}
