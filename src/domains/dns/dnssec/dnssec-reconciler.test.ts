import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { useDnssec } from '../../../../test/support/dnssec-zones.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { claimDueZone } from './dnssec-store.ts';
import { createDnssecReconciler } from './index.ts';

const bench = useDnssec();

describe('several workers', () => {
  it('take a zone up later each time, whose workers end with their processes', async () => {
    await bench.request(true);
    const LEASE_MINUTES = 10;
    const claimAfter = async (minutes: number) => {
      bench.world.clock.advance(minutes * 60_000);
      return (await claimDueZone(bench.db, bench.world.clock.now())).zone !== undefined;
    };
    const claims = [await claimAfter(0), await claimAfter(LEASE_MINUTES)];
    assert.deepEqual(claims, [true, true], 'the first end costs no wait');
    for (const waitMinutes of [2, 4, 8]) {
      assert.equal(await claimAfter(LEASE_MINUTES + waitMinutes - 1), false);
      assert.equal(await claimAfter(1), true);
    }
  });

  it('never work on one zone at a time', async () => {
    const other = createDnssecReconciler({ ...bench.world.options, db: bench.db });
    await bench.request(true);
    const counts = await Promise.all([bench.reconciler.advanceDue(), other.advanceDue()]);
    assert.deepEqual(counts.toSorted(), [0, 1]);
    assert.equal(bench.world.registry.updates.length, 1);
  });

  it('take over from one that stalled, which then does nothing more', async () => {
    const stalled = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const sign = async (name: string) => {
      begun.resolve();
      await stalled.promise;
      return bench.world.signer.sign(name);
    };
    const zones = { ...bench.world.options.zones, sign };
    const slow = createDnssecReconciler({ ...bench.world.options, db: bench.db, zones });
    await bench.request(true);
    const late = slow.advanceDue();
    await begun.promise;
    await bench.pass(300_000);
    assert.equal(bench.world.registry.updates.length, 0, 'its lease still stands');
    bench.world.registry.endWith({ kind: 'lost' });
    await bench.pass(300_000);
    assert.equal(bench.world.registry.updates.length, 1);
    stalled.resolve();
    await late;
    assert.equal(bench.world.registry.updates.length, 1);
    await bench.pass(5_000);
    assert.equal(await bench.state(), 'on');
  });

  it('tell of a database that fails only once the zones under way are done', async () => {
    const failed = Promise.withResolvers<void>();
    let queries = 0;
    const db: Database = {
      ...bench.db,
      query: async <Row>(statement: Statement) => {
        queries += 1;
        if (queries === 1) return bench.db.query<Row>(statement);
        failed.resolve();
        throw new Error('the connection is lost');
      },
      transaction: (work) => bench.db.transaction(work),
    };
    const sign = async (name: string) => {
      await failed.promise;
      // As long as it takes for a rejection that nobody awaits to end the process.
      await setImmediate();
      return bench.world.signer.sign(name);
    };
    const zones = { ...bench.world.options.zones, sign };
    await bench.request(true);
    const failing = createDnssecReconciler({ ...bench.world.options, db, zones });
    await assert.rejects(failing.advanceDue(), /the connection is lost/);
  });
});
