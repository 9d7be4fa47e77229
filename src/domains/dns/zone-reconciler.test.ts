import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { describeOnEachStore, openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { addTestRecord, createHostedZone } from '../../../test/support/zones.ts';
import { createManualClock, type ManualClock } from '../../kernel/clock/clock.ts';
import { connectServer } from '../../kernel/db/connect-server.ts';
import type { Database } from '../../kernel/db/database.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { ZoneContent, ZonePublisher } from './publisher.ts';
import { createZoneReconciler, type ZoneReconciler } from './zone-reconciler.ts';
import { closeZone, findZone, openZone, type ZoneRef } from './zone-store.ts';

const NAMESERVERS = ['ns1.ironcraft.test', 'ns2.ironcraft.test'];

/** A publisher that records its calls, checks that those for a zone do not overlap, and fails on demand. */
class RecordingPublisher implements ZonePublisher {
  readonly kind = 'powerdns';
  readonly supportsDnssec = true;
  readonly calls: string[] = [];
  readonly served = new Map<string, ZoneContent>();
  readonly #busy = new Set<string>();
  failing: string | undefined;
  /** Holds calls until it resolves. */
  gate: Promise<void> = Promise.resolve();
  onCall: () => void = () => undefined;

  async publish(zone: ZoneContent): Promise<void> {
    await this.#alone(zone.name, `publish ${zone.name}`);
    this.served.set(zone.name, zone);
  }

  async remove(name: string): Promise<void> {
    await this.#alone(name, `remove ${name}`);
    this.served.delete(name);
  }

  async sign(name: string) {
    await this.#alone(name, `sign ${name}`);
    return [{ keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB' }];
  }

  async unsign(name: string): Promise<void> {
    await this.#alone(name, `unsign ${name}`);
  }

  async addKey(name: string) {
    return this.sign(name);
  }

  async retireKeys(name: string): Promise<void> {
    await this.unsign(name);
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  async #alone(name: string, call: string): Promise<void> {
    assert.ok(!this.#busy.has(name), `${call} overlaps another call`);
    this.#busy.add(name);
    this.calls.push(call);
    this.onCall();
    try {
      await this.gate;
      await new Promise(setImmediate);
      if (this.failing !== undefined) throw new Error(this.failing);
    } finally {
      this.#busy.delete(name);
    }
  }
}

interface Scene {
  readonly publisher: RecordingPublisher;
  readonly reconciler: ZoneReconciler;
  readonly clock: ManualClock;
  readonly warnings: object[];
}

/** Not started: it does what the test asks for, and nothing by itself. */
function setScene(db: Database, publisher = new RecordingPublisher()): Scene {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'));
  const warnings: object[] = [];
  const logger = { warn: (fields: object) => warnings.push(fields), error: (fields: object) => warnings.push(fields) };
  return {
    publisher,
    clock,
    warnings,
    reconciler: createZoneReconciler({ db, publisher, nameservers: NAMESERVERS, clock, logger }),
  };
}

const textOf = (content: ZoneContent | undefined) =>
  content?.recordSets.map(({ name, type, ttl, values }) => `${name} ${ttl} ${type} ${values.join(', ')}`);

async function endDomain(db: Database, zone: ZoneRef): Promise<void> {
  await db.transaction(async (tx) => {
    const domains = workspaceDb(tx, zone.workspaceId).updateTable('domains');
    await domains.set({ state: 'gone', gone_at: new Date() }).where('id', '=', zone.domainId).execute();
    await closeZone(tx, zone);
  });
}

let database: TestDatabase;
let db: Database;
before(async () => {
  database = await openTestDatabase();
  db = database.db;
});
after(() => database.close());

test('a zone is published as whole sets, with the SOA and NS of its own name', async () => {
  const { reconciler, publisher } = setScene(db);
  const zone = await createHostedZone(db, 'sets.test', [
    '@ 300 A 192.0.2.2',
    '@ 300 A 192.0.2.1',
    'www 60 CNAME sets.test.',
    '* 60 TXT "any"',
  ]);
  await reconciler.publishNow('sets.test');
  const serial = (await findZone(db, zone.name))?.serial;
  assert.deepEqual(textOf(publisher.served.get('sets.test')), [
    `sets.test 3600 SOA ns1.ironcraft.test. hostmaster.ironcraft.test. ${serial} 10800 3600 604800 300`,
    'sets.test 3600 NS ns1.ironcraft.test., ns2.ironcraft.test.',
    '*.sets.test 60 TXT "any"',
    'sets.test 300 A 192.0.2.1, 192.0.2.2',
    'www.sets.test 60 CNAME sets.test.',
  ]);
});

test('changes that commit while a zone is being published are published once, afterwards', async () => {
  const { reconciler, publisher } = setScene(db);
  const zone = await createHostedZone(db, 'burst.test');
  const opened = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  publisher.gate = opened.promise;
  publisher.onCall = called.resolve;
  const first = reconciler.publishNow('burst.test');
  await called.promise;
  for (let host = 1; host <= 5; host += 1) await addTestRecord(db, zone, `@ 300 A 192.0.2.${host}`);
  const others = [reconciler.publishNow('burst.test'), reconciler.publishNow('burst.test')];
  opened.resolve();
  await Promise.all([first, ...others]);
  assert.deepEqual(publisher.calls, ['publish burst.test', 'publish burst.test']);
  assert.equal(publisher.served.get('burst.test')?.recordSets.find(({ type }) => type === 'A')?.values.length, 5);
  const row = await findZone(db, 'burst.test');
  assert.equal(row?.publishedVersion, row?.version);
});

test('each change has a higher serial', async () => {
  const zone = await createHostedZone(db, 'serial.test');
  const first = (await findZone(db, zone.name))?.serial ?? 0;
  await addTestRecord(db, zone, '@ 300 A 192.0.2.1');
  assert.equal((await findZone(db, zone.name))?.serial, first + 1);
});

test('what the publisher refused is tried again, later each time, and recorded in the zone’s row', async () => {
  const { reconciler, publisher, clock, warnings } = setScene(db);
  await createHostedZone(db, 'failing.test');
  const calls = () => publisher.calls.filter((call) => call === 'publish failing.test').length;
  publisher.failing = 'the nameserver is away';
  await reconciler.sweep();
  await reconciler.sweep();
  assert.deepEqual([calls(), warnings.length > 0], [1, true]);
  const { rows } = await db.query<{ failure: string }>({
    text: 'select failure from domains.zones where name = $1',
    values: ['failing.test'],
  });
  assert.equal(rows[0]?.failure, 'the nameserver is away');
  clock.advance(1_000);
  await reconciler.sweep();
  assert.equal(calls(), 2);
  clock.advance(1_000);
  await reconciler.sweep();
  assert.equal(calls(), 2, 'the second wait is longer');
  publisher.failing = undefined;
  clock.advance(1_000);
  await reconciler.sweep();
  assert.equal(calls(), 3);
  await reconciler.sweep();
  assert.equal(calls(), 3);
  const cleared = await db.query<{ failure: string | null }>({
    text: 'select failure from domains.zones where name = $1',
    values: ['failing.test'],
  });
  assert.equal(cleared.rows[0]?.failure, null);
});

test('publishing by hand rejects with the publisher’s error', async () => {
  const { reconciler, publisher } = setScene(db);
  await createHostedZone(db, 'by-hand.test');
  publisher.failing = 'no';
  await assert.rejects(reconciler.publishNow('by-hand.test'), /^Error: no$/);
  publisher.failing = undefined;
  await reconciler.publishNow('by-hand.test');
  await reconciler.publishNow('by-hand.test');
  assert.equal(publisher.calls.length, 2, 'what is published already is not published again');
});

test('a reconciler that runs publishes a change as it commits', async () => {
  const { reconciler, publisher } = setScene(db);
  const zone = await createHostedZone(db, 'woken.test');
  await reconciler.start();
  try {
    const called = Promise.withResolvers<void>();
    publisher.onCall = () => {
      if (publisher.calls.filter((call) => call === 'publish woken.test').length === 2) called.resolve();
    };
    await reconciler.publishNow('woken.test');
    await addTestRecord(db, zone, '@ 300 A 192.0.2.1');
    await called.promise;
  } finally {
    await reconciler.stop();
  }
  assert.ok(textOf(publisher.served.get('woken.test'))?.includes('woken.test 300 A 192.0.2.1'));
});

test('the zone of a name that is gone is taken away, and its row with it', async () => {
  const { reconciler, publisher } = setScene(db);
  const zone = await createHostedZone(db, 'gone.test', ['@ 300 A 192.0.2.1']);
  await reconciler.publishNow('gone.test');
  await endDomain(db, zone);
  publisher.failing = 'away';
  await assert.rejects(reconciler.publishNow('gone.test'));
  assert.ok(await findZone(db, 'gone.test'), 'the row stays until the zone is taken away');
  publisher.failing = undefined;
  await reconciler.publishNow('gone.test');
  assert.deepEqual([publisher.served.has('gone.test'), await findZone(db, 'gone.test')], [false, undefined]);
});

test('the next owner of a name begins with an empty zone, even when the last one’s was not taken away yet', async () => {
  const { reconciler, publisher } = setScene(db);
  const former = await createHostedZone(db, 'handed-on.test', ['@ 300 A 192.0.2.1']);
  await reconciler.publishNow('handed-on.test');
  const formerSerial = publisher.served.get('handed-on.test')?.serial ?? 0;
  await endDomain(db, former);
  const next = await createHostedZone(db, 'handed-on.test', ['@ 300 A 198.51.100.1']);
  await db.transaction((tx) => openZone(tx, next));
  await reconciler.publishNow('handed-on.test');
  const served = publisher.served.get('handed-on.test');
  assert.deepEqual(
    served?.recordSets.filter(({ type }) => type === 'A').flatMap(({ values }) => values),
    ['198.51.100.1'],
  );
  assert.ok((served?.serial ?? 0) >= formerSerial);
});

test('a zone is published before it is signed', async () => {
  const { reconciler, publisher } = setScene(db);
  await createHostedZone(db, 'signed.test');
  assert.equal((await reconciler.sign('signed.test')).length, 1);
  await reconciler.unsign('signed.test');
  assert.deepEqual(publisher.calls, ['publish signed.test', 'sign signed.test', 'unsign signed.test']);
  await assert.rejects(reconciler.sign('unknown.test'), /there is no zone unknown\.test/);
});

describeOnEachStore('several reconcilers', { poolSize: 20 }, (current) => {
  test('never work on one zone at a time, and leave what the rows say', async () => {
    const { db: here, url } = current();
    // Another replica has connections of its own, where the store takes any.
    const replica = url === undefined ? undefined : await connectServer({ url, poolSize: 5 });
    try {
      const publisher = new RecordingPublisher();
      const reconcilers = [here, replica ?? here, here].map((store) => setScene(store, publisher).reconciler);
      const zone = await createHostedZone(here, 'shared.test');
      const work = Array.from({ length: 20 }, async (_, at) => {
        await addTestRecord(here, zone, `h${at} 300 A 192.0.2.1`);
        await reconcilers[at % 3]?.publishNow('shared.test');
      });
      await Promise.all(work);
      assert.equal(publisher.served.get('shared.test')?.recordSets.filter(({ type }) => type === 'A').length, 20);
    } finally {
      await replica?.close();
    }
  });
});
