/** New keys of signed zones: see roll-key.ts. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { DS_TTL_MS, useDnssec } from '../../../../test/support/dnssec-zones.ts';
import { createDnssecReconciler, requestRoll } from './index.ts';

const HOUR_MS = 3_600_000;
const SIGNING_MS = 2 * HOUR_MS;
const DAYS_MS = 86_400_000;

describe('a new key', () => {
  const bench = useDnssec();
  const roll = () => requestRoll(bench.db, bench.zone.name);
  const tags = () => bench.world.registry.dsOf(bench.zone.name).map(({ keyTag }) => keyTag);
  const keys = () => bench.world.signer.keysOf(bench.zone.name);
  const rollState = async () => (await bench.row()).roll_state;
  afterEach(() => assert.deepEqual(bench.world.breaches, []));

  it('signs beside the old one, then has the DS record, and then is the only one', async () => {
    await bench.turnOn();
    assert.equal((await roll())?.roll_state, 'signing');
    await bench.pass(0);
    assert.deepEqual([keys(), tags(), await rollState()], [[1, 2], [1], 'signing']);
    await bench.pass(SIGNING_MS - 1, 5);
    assert.deepEqual([tags(), await rollState()], [[1], 'signing']);
    await bench.pass(1);
    assert.deepEqual([keys(), tags(), await rollState()], [[1, 2], [2], 'retiring']);
    await bench.pass(DS_TTL_MS - 1, 5);
    assert.deepEqual([keys(), await rollState()], [[1, 2], 'retiring']);
    await bench.pass(1);
    assert.deepEqual([keys(), tags(), await rollState(), await bench.state()], [[2], [2], null, 'on']);
    assert.deepEqual((await bench.row()).key_since, bench.world.clock.now());
    assert.deepEqual(
      (await bench.row()).ds_records.map(({ keyTag }) => keyTag),
      [2],
    );
  });

  it('waits for the longest TTL of the zone', async () => {
    await bench.turnOn();
    const { domainId, workspaceId } = bench.zone;
    await bench.db.query({
      text: `insert into domains.dns_records (workspace_id, domain_id, id, subdomain, type, value, ttl)
        values ($1, $2, 'rec_long', 'www', 'A', '192.0.2.1', 604800)`,
      values: [workspaceId, domainId],
    });
    await roll();
    await bench.pass(0);
    await bench.pass(7 * DAYS_MS, 7);
    assert.deepEqual(tags(), [1]);
    await bench.pass(HOUR_MS);
    assert.deepEqual(tags(), [2]);
  });

  it('asked for twice is one, and of a zone that is not signed none', async () => {
    assert.equal(await roll(), undefined);
    await bench.turnOn();
    await roll();
    await bench.pass(0);
    assert.equal((await roll())?.roll_state, 'signing');
    await bench.pass(SIGNING_MS);
    assert.equal((await roll())?.roll_state, 'retiring');
    await bench.pass(DS_TTL_MS);
    assert.deepEqual(keys(), [2]);
    assert.equal(await requestRoll(bench.db, 'nothing.example'), undefined);
  });

  it('has its old one beside it while the registry refuses, does not answer or is slow', async () => {
    await bench.turnOn();
    await roll();
    await bench.pass(0);
    const ends = [
      { kind: 'rejected', code: 'policy' },
      { kind: 'lost' },
      { kind: 'pending', delayMs: 2 * HOUR_MS },
    ] as const;
    bench.world.registry.endWith(...ends);
    await bench.pass(SIGNING_MS);
    assert.match((await bench.row()).dnssec_failure ?? '', / It is tried again\./);
    assert.deepEqual([keys(), tags()], [[1, 2], [1]]);
    await bench.pass(HOUR_MS, 20);
    assert.deepEqual([tags(), await rollState()], [[1], 'parent']);
    await bench.pass(3 * HOUR_MS, 20);
    assert.deepEqual([keys(), tags(), await rollState()], [[1, 2], [2], 'retiring']);
    await bench.pass(DS_TTL_MS, 2);
    assert.deepEqual(keys(), [2]);
  });

  it('is waited for anew where the registry shows the old DS record again', async () => {
    await bench.turnOn();
    const old = bench.world.registry.dsOf(bench.zone.name);
    await roll();
    await bench.pass(0);
    await bench.pass(SIGNING_MS);
    bench.world.registry.setDs(bench.zone.name, old);
    await bench.pass(DS_TTL_MS);
    assert.deepEqual([keys(), await rollState()], [[1, 2], 'parent']);
    await bench.pass(HOUR_MS, 10);
    assert.deepEqual([tags(), await rollState()], [[2], 'retiring']);
    await bench.pass(DS_TTL_MS - HOUR_MS, 4);
    assert.deepEqual(keys(), [1, 2]);
    await bench.pass(HOUR_MS, 2);
    assert.deepEqual(keys(), [2]);
  });

  it('is not early where it is looked at early', async () => {
    await bench.turnOn();
    await roll();
    await bench.pass(0);
    const lookNow = () =>
      bench.db.query({
        text: 'update domains.zones set dnssec_next_look_at = null where name = $1',
        values: [bench.zone.name],
      });
    for (const [ms, expected] of [
      [SIGNING_MS, [1]],
      [DS_TTL_MS, [2]],
    ] as const) {
      await lookNow();
      await bench.pass(ms - 1);
      await lookNow();
      await bench.pass(0);
      assert.deepEqual([keys(), tags()], [[1, 2], expected]);
      await bench.pass(1);
    }
    assert.deepEqual(keys(), [2]);
  });

  it('goes with the old one when DNSSEC is turned off meanwhile', async () => {
    await bench.turnOn();
    await roll();
    await bench.pass(0);
    await bench.pass(SIGNING_MS);
    await bench.request(false);
    await bench.pass(0);
    assert.deepEqual([keys(), tags(), await rollState()], [[1, 2], [], null]);
    await bench.pass(DS_TTL_MS, 2);
    assert.deepEqual([keys(), await bench.state()], [[], 'off']);
  });

  it('comes by itself once the present one is so old, and so does the next', async () => {
    await bench.turnOn();
    const { db, world } = bench;
    bench.reconciler = createDnssecReconciler({ ...world.options, db, keyLifetimeMs: 90 * DAYS_MS });
    await bench.pass(90 * DAYS_MS - 1);
    assert.equal(await rollState(), null);
    await bench.pass(1);
    assert.equal(await rollState(), 'signing');
    await bench.pass(2 * DAYS_MS, 24);
    assert.deepEqual([keys(), tags(), await rollState()], [[2], [2], null]);
    await bench.pass(88 * DAYS_MS);
    assert.equal(await rollState(), null);
    await bench.pass(2 * DAYS_MS);
    assert.equal(await rollState(), 'signing');
  });

  it('is one, however many processes work on it', async () => {
    await bench.turnOn();
    await roll();
    const { db, world } = bench;
    const several = [1, 2, 3].map(() => createDnssecReconciler({ ...world.options, db }));
    const advance = () => Promise.all(several.map((reconciler) => reconciler.advanceDue()));
    for (const ms of [0, SIGNING_MS, DS_TTL_MS]) {
      world.clock.advance(ms);
      await advance();
    }
    assert.deepEqual([keys(), tags(), await rollState()], [[2], [2], null]);
    assert.deepEqual(world.events, ['sign', 'ds 1', 'key 2', 'ds 1', 'retire']);
  });
});
