/** DNSSEC while processes die between any two steps, at a registry of every mood, with an owner who cannot decide: no answer is ever bogus. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createDnssecReconciler,
  type DnssecReconciler,
  requestDnssec,
  requestRoll,
} from '../../src/domains/dns/dnssec/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import type { Database, Statement } from '../../src/kernel/db/database.ts';
import { createRandom, type Random } from '../faults/seeded-random.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { createDnssecWorld, type DnssecWorld, insertZone, type TestZone } from './dnssec-zones.ts';
import type { UpdateEnd } from './memory-registry.ts';
import { seedFor } from './seed.ts';

const STEPS = 24;
const HOUR_MS = 3_600_000;

/** A process that dies at its n-th contact with the world outside, before that takes effect or after. */
function createDoomedReconciler(
  db: Database,
  { options }: DnssecWorld,
  contacts: number,
  random: Random,
): DnssecReconciler {
  let left = contacts;
  const dies = () => {
    left -= 1;
    return left <= 0;
  };
  const contact = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!dies()) return work();
    if (left === 0 && random.next() < 0.5) await work();
    throw new Error('the process is dead');
  };
  const doomedDb: Database = {
    kind: db.kind,
    use: db.use,
    query: <Row>(statement: Statement) => contact(() => db.query<Row>(statement)),
    transaction: (work) => contact(() => db.transaction(work)),
    wake: (channel) => db.wake(channel),
    notify: (channel, payload) => db.notify(channel, payload),
    listen: (channel, onMessage) => db.listen(channel, onMessage),
    ping: () => db.ping(),
    close: () => db.close(),
  };
  const { registry, zones } = options;
  return createDnssecReconciler({
    ...options,
    db: doomedDb,
    registry: {
      info: (name) => contact(() => registry.info(name)),
      update: (command) => contact(() => registry.update(command)),
    },
    zones: {
      sign: (name) => contact(() => zones.sign(name)),
      unsign: (name) => contact(() => zones.unsign(name)),
      addKey: (name, known) => contact(() => zones.addKey(name, known)),
      retireKeys: (name, kept) => contact(() => zones.retireKeys(name, kept)),
    },
  });
}

function pickEnd(random: Random): UpdateEnd {
  const codes = ['status_prohibits', 'policy', 'other', 'pending_transfer'] as const;
  return random.pick<UpdateEnd>([
    { kind: 'completed' },
    { kind: 'completed' },
    { kind: 'lost' },
    { kind: 'unanswered' },
    { kind: 'late', delayMs: random.integer(1, 20) * HOUR_MS },
    { kind: 'pending', delayMs: random.integer(1, 30) * HOUR_MS },
    { kind: 'rejected', code: random.pick(codes) },
  ]);
}

const STATES = ['disabling', 'enabling', 'off', 'on'];

/** So many zones of either kind; more, to `mostRuns`, until every state was met in the middle. */
export function describeDnssecFaults(leastRuns: number, mostRuns: number): void {
  describe('DNSSEC under faults', () => {
    let database: TestDatabase;

    before(async () => {
      database = await openTestDatabase();
    });
    after(() => database?.close());

    function request(zone: TestZone, on: boolean): Promise<string> {
      const { workspaceId, domainId } = zone;
      const wish = { workspaceId, domainId, on, publisher: { supportsDnssec: true } };
      return database.db.transaction((tx) => requestDnssec(tx, wish));
    }

    async function takeStep(world: DnssecWorld, zone: TestZone, random: Random, isSteady = false): Promise<void> {
      if (!isSteady && random.next() < 0.3) await request(zone, random.next() < 0.5);
      if (random.next() < 0.3) await requestRoll(database.db, zone.name);
      world.clock.advance(random.pick([1_000, 30_000, HOUR_MS, 25 * HOUR_MS]));
      world.registry.endWith(pickEnd(random), pickEnd(random));
      world.registry.failReads(random.next() < 0.2 ? 1 : 0);
      const isDoomed = random.next() < 0.5;
      const reconciler = isDoomed
        ? createDoomedReconciler(database.db, world, random.integer(1, 12), random)
        : createDnssecReconciler({ ...world.options, db: database.db });
      await reconciler.advanceDue().catch((error: unknown) => {
        if (!isDoomed) throw error;
      });
    }

    /** The faults end; the workers that are left bring the zone to the state that its owner wants. */
    async function settle(world: DnssecWorld, zone: TestZone, wanted: string): Promise<void> {
      world.registry.endWith();
      world.registry.failReads(0);
      const reconciler = createDnssecReconciler({ ...world.options, db: database.db });
      const isSettled = async () => (await stateOf(zone)) === wanted && !(await isRolling(zone));
      for (let hour = 0; hour < 150 && !(await isSettled()); hour += 5) {
        world.clock.advance(5 * HOUR_MS);
        await reconciler.advanceDue();
      }
    }

    async function stateOf(zone: TestZone): Promise<string> {
      const query = systemDb(database.db).selectFrom('zones').select('dnssec').where('domain_id', '=', zone.domainId);
      return (await query.executeTakeFirstOrThrow()).dnssec;
    }

    async function isRolling(zone: TestZone): Promise<boolean> {
      const query = systemDb(database.db)
        .selectFrom('zones')
        .select('roll_state')
        .where('domain_id', '=', zone.domainId);
      return (await query.executeTakeFirstOrThrow()).roll_state !== null;
    }

    it(`zones of ${STEPS} mishaps each end as their owners want, and validate all the time`, async () => {
      const seen = new Set<string>();
      for (let seed = 1; seed <= leastRuns || (seed <= mostRuns && seen.size < STATES.length); seed += 1) {
        const random = createRandom(seedFor(`dnssec-faults ${seed}`));
        const world = createDnssecWorld();
        const zone = await insertZone(database.db, `faulty${seed}.example`);
        world.registry.add(zone.name);
        for (let step = 0; step < STEPS; step += 1) await takeStep(world, zone, random);
        seen.add(await stateOf(zone));
        const on = random.next() < 0.5;
        await request(zone, on);
        await settle(world, zone, on ? 'on' : 'off');
        const hasKey = world.signer.hasKey(zone.name);
        // A new key that was given up on its way is as good as the first.
        const hasDs = world.registry.dsOf(zone.name).length > 0;
        const end = { state: await stateOf(zone), isRolling: await isRolling(zone), hasDs, hasKey };
        const wanted = { state: on ? 'on' : 'off', isRolling: false, hasDs: on, hasKey: on };
        const story = `seed ${seed}: ${world.events.join(', ')}`;
        assert.deepEqual(world.breaches, [], story);
        assert.deepEqual(end, wanted, story);
      }
      assert.deepEqual([...seen].sort(), STATES, 'every state was met in the middle');
    });

    it('new keys of signed zones come to their end whatever happens, and all validate all the time', async () => {
      let retired = 0;
      for (let seed = 1; seed <= leastRuns; seed += 1) {
        const random = createRandom(seedFor(`dnssec-faults ${seed}`));
        const world = createDnssecWorld();
        const zone = await insertZone(database.db, `rolling${seed}.example`);
        world.registry.add(zone.name);
        await request(zone, true);
        await createDnssecReconciler({ ...world.options, db: database.db }).advanceDue();
        for (let step = 0; step < STEPS; step += 1) await takeStep(world, zone, random, true);
        await settle(world, zone, 'on');
        const story = `seed ${seed}: ${world.events.join(', ')}`;
        const keys = world.signer.keysOf(zone.name);
        assert.deepEqual(world.breaches, [], story);
        assert.deepEqual([keys.length, await isRolling(zone)], [1, false], story);
        assert.deepEqual(
          world.registry.dsOf(zone.name).map(({ keyTag }) => keyTag),
          keys,
          story,
        );
        retired += world.events.filter((event) => event === 'retire').length;
      }
      assert.ok(retired > leastRuns, `${retired} old keys went`);
    });
  });
}
