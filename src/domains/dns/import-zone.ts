/** Brings a zone's records to those of a zone file, in one transaction. */
import type { Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { DEFAULT_TTL, lockOrOpenZone } from './change-zone.ts';
import { checkPlacement, ZONE_LIMIT } from './records/check-placement.ts';
import { type PlannedRecord, type SavedChanges, saveRecords } from './save-records.ts';
import { onLine } from './zone-file/bad-file.ts';
import { type FileRecord, readZoneFile, type ZoneFile } from './zone-file/read-zone-file.ts';
import { listRecords, type StoredRecord, type ZoneRef } from './zone-store.ts';

export interface ZoneImport {
  readonly text: string;
  /** Records that the file does not have stay. */
  readonly keepsOthers: boolean;
  readonly ttl: { readonly shortest: number; readonly longest: number };
}

export interface ImportedZone extends SavedChanges, Pick<ZoneFile, 'skipped'> {
  readonly unchanged: number;
}

/** Throws `bad_request`, which names the line at fault; then nothing has changed. */
export async function importZone(tx: Transaction, zone: ZoneRef, file: ZoneImport): Promise<ImportedZone> {
  const { records, skipped } = readZoneFile(file.text, zone.name, {
    records: ZONE_LIMIT,
    shortestTtl: file.ttl.shortest,
    longestTtl: file.ttl.longest,
  });
  await lockOrOpenZone(tx, zone);
  const before = await listRecords(tx, zone);
  const after = planRecords(zone, before, records, file.keepsOthers);
  const changes = await saveRecords(tx, zone, before, after);
  return { ...changes, skipped, unchanged: after.length - changes.added - changes.changed };
}

function planRecords(
  zone: ZoneRef,
  before: readonly StoredRecord[],
  wanted: readonly FileRecord[],
  keepsOthers: boolean,
): PlannedRecord[] {
  const known = new Map(before.map((record) => [recordKey(record), record]));
  const planned = new Map<string, PlannedRecord>(keepsOthers ? known : []);
  for (const { line, subdomain, type, value } of wanted) {
    const key = recordKey({ subdomain, type, value });
    if (planned.has(key)) continue;
    onLine(line, () => checkPlacement([...planned.values()], { subdomain, type, value }, zone.name));
    planned.set(key, known.get(key) ?? { id: mintId('rec'), subdomain, type, value, ttl: DEFAULT_TTL });
  }
  const ttls = setTtls(wanted);
  const kept = setTtls(keepsOthers ? before : []);
  return [...planned.values()].map((record) => {
    const set = setKey(record);
    return { ...record, ttl: ttls.get(set) ?? kept.get(set) ?? DEFAULT_TTL };
  });
}

/** The TTL of each set; where a file gives several for one, the shortest (RFC 2181 5.2). */
function setTtls(records: readonly { subdomain: string; type: string; ttl?: number }[]): Map<string, number> {
  const ttls = new Map<string, number>();
  for (const { ttl, ...record } of records) {
    if (ttl !== undefined) ttls.set(setKey(record), Math.min(ttl, ttls.get(setKey(record)) ?? ttl));
  }
  return ttls;
}

function setKey({ subdomain, type }: { subdomain: string; type: string }): string {
  return `${subdomain} ${type}`;
}

function recordKey({ subdomain, type, value }: { subdomain: string; type: string; value: string }): string {
  return `${subdomain} ${type} ${value}`;
}
