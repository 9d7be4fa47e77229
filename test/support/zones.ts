/** Names with hosted zones, without an order for them. */
import { addRecord, isRecordType, openZone, type ZoneRef } from '../../src/domains/dns/index.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';

/**
 * An active domain with a zone, in the given workspace or one of its own. Records are written as in a zone file, with the
 * TTL in second place: `www 300 A 192.0.2.1`.
 */
export async function createHostedZone(
  db: Database,
  name: string,
  records: readonly string[] = [],
  workspaceId?: string,
): Promise<ZoneRef> {
  return db.transaction(async (tx) => {
    const zone = { workspaceId: workspaceId ?? mintId('wsp'), domainId: mintId('dom'), name };
    if (workspaceId === undefined) {
      await systemDb(tx).insertInto('workspaces').values({ id: zone.workspaceId, name: 'Test' }).execute();
    }
    await workspaceDb(tx, zone.workspaceId)
      .insertInto('domains')
      .values({ id: zone.domainId, name, state: 'active', added_via: 'registration' })
      .execute();
    await openZone(tx, zone);
    for (const text of records) await addRecord(tx, zone, parseRecord(text));
    return zone;
  });
}

/** Adds one record, written as in `createHostedZone`. */
export async function addTestRecord(db: Database, zone: ZoneRef, text: string): Promise<void> {
  await db.transaction((tx) => addRecord(tx, zone, parseRecord(text)));
}

function parseRecord(text: string) {
  const [, subdomain = '', ttl = '', type = '', value = ''] = /^(\S+) (\d+) (\S+) (.*)$/s.exec(text) ?? [];
  if (!isRecordType(type)) throw new Error(`no record: ${text}`);
  return { subdomain, ttl: Number(ttl), type, value };
}
