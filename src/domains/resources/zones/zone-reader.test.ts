import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { NAMESERVERS } from '../../../../test/support/domains.ts';
import { addTestRecord, createHostedZone } from '../../../../test/support/zones.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { closeZone, openZone, type ZoneRef } from '../../dns/index.ts';
import { systemDb } from '../../workspace-scope.ts';
import { createZoneReader } from './zone-reader.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

async function setDomain({ domainId }: ZoneRef, changes: { state?: 'gone'; snapshot?: string }): Promise<void> {
  await systemDb(database.db).updateTable('domains').set(changes).where('id', '=', domainId).execute();
}

/** What the registry shows. */
function serveAt(zone: ZoneRef, nameservers: readonly string[]): Promise<void> {
  return setDomain(zone, { snapshot: json({ name: zone.name, nameservers }) });
}

const newName = () => `${mintId('zone').replace('_', '-')}.example`;

/** A reader, how many statements it sent, and how often records came back. */
function openReader() {
  const count = { statements: 0, records: 0 };
  const db: Database = Object.create(database.db, {
    query: {
      value: async (statement: Statement) => {
        const answer = await database.db.query<{ records?: unknown }>(statement);
        count.statements += 1;
        for (const { records } of answer.rows) if (records !== null && records !== undefined) count.records += 1;
        return answer;
      },
    },
  });
  const read = createZoneReader(db, NAMESERVERS);
  const readZone = async (zone: { workspaceId: string; name: string }) => {
    const { bytes } = await (await read(zone)).bytesFor(undefined);
    return JSON.parse(bytes.toString());
  };
  const addresses = async (zone: { workspaceId: string; name: string }) =>
    (await readZone(zone)).records
      .filter(({ type }: { type: string }) => type === 'A')
      .map(({ value }: { value: string }) => value);
  return { count, readZone, addresses };
}

test('a zone is read once for all who ask together, and its records again only when it has changed', async () => {
  const { count, addresses } = openReader();
  const zone = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.1']);
  const other = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.9']);
  const answers = await Promise.all([zone, other, zone, zone].map(addresses));
  assert.deepEqual(answers, [['192.0.2.1'], ['192.0.2.9'], ['192.0.2.1'], ['192.0.2.1']]);
  assert.deepEqual(count, { statements: 1, records: 2 });
  assert.deepEqual(await addresses(zone), ['192.0.2.1']);
  assert.deepEqual(count, { statements: 2, records: 2 });
  await addTestRecord(database.db, zone, '@ 300 A 192.0.2.2');
  assert.deepEqual(await addresses(zone), ['192.0.2.1', '192.0.2.2']);
  assert.deepEqual(count, { statements: 3, records: 3 });
});

test('who asks together is refused or answered each by itself', async () => {
  const { readZone, addresses } = openReader();
  const zone = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.1']);
  const foreign = { workspaceId: mintId('wsp'), name: zone.name };
  const missing = { workspaceId: zone.workspaceId, name: newName() };
  const [own, ...refused] = await Promise.allSettled([addresses(zone), readZone(foreign), readZone(missing)]);
  assert.deepEqual(own, { status: 'fulfilled', value: ['192.0.2.1'] });
  for (const answer of refused) assert.equal(answer.status === 'rejected' && answer.reason.code, 'not_found');
});

test('whether it is published is read each time', async () => {
  const { readZone } = openReader();
  const zone = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.1']);
  const { published: first, ...before } = await readZone(zone);
  await database.db.query({
    text: 'update domains.zones set published_version = version where domain_id = $1',
    values: [zone.domainId],
  });
  const { published: second, ...after } = await readZone(zone);
  assert.deepEqual([first, second], [false, true]);
  assert.deepEqual(after, before);
});

test('a zone that was closed and opened again is read as it is now, although it counts from one again', async () => {
  const { addresses } = openReader();
  const zone = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.1']);
  await serveAt(zone, NAMESERVERS);
  assert.deepEqual(await addresses(zone), ['192.0.2.1']);
  await database.db.transaction(async (tx) => {
    await closeZone(tx, zone);
    await tx.query({ text: 'delete from domains.zones where domain_id = $1', values: [zone.domainId] });
  });
  assert.deepEqual(await addresses(zone), []);
  await database.db.transaction((tx) => openZone(tx, zone));
  await addTestRecord(database.db, zone, '@ 300 A 192.0.2.2');
  assert.deepEqual(await addresses(zone), ['192.0.2.2']);
});

test('what is kept of a zone is not answered once its name has left, or is served elsewhere', async () => {
  const { readZone, addresses } = openReader();
  const zone = await createHostedZone(database.db, newName(), ['@ 300 A 192.0.2.1']);
  assert.deepEqual(await addresses(zone), ['192.0.2.1']);
  await serveAt(zone, ['ns1.example.net', 'ns2.example.net']);
  await assert.rejects(readZone(zone), { code: 'no_hosted_zone' });
  await serveAt(zone, NAMESERVERS);
  assert.deepEqual(await addresses(zone), ['192.0.2.1']);
  await setDomain(zone, { state: 'gone' });
  await assert.rejects(readZone(zone), { code: 'not_found' });
});
