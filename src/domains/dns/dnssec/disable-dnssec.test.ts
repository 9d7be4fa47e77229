import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DS_TTL_MS, useDnssec } from '../../../../test/support/dnssec-zones.ts';
import { createDnssecReconciler } from './index.ts';

const HOUR_MS = 3_600_000;

const bench = useDnssec();

describe('turning it off', () => {
  it('takes the DS records away first and drops the keys when nobody remembers them', async () => {
    await bench.turnOn();
    assert.equal(await bench.request(false), 'disabling');
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.events, ['sign', 'ds 1', 'ds 0']);
    await bench.pass(DS_TTL_MS - 1, 50);
    assert.equal(await bench.state(), 'disabling');
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.deepEqual(bench.world.events, ['sign', 'ds 1', 'ds 0', 'unsign']);
    assert.equal(await bench.state(), 'off');
    assert.deepEqual((await bench.row()).ds_records, []);
  });

  it('counts the waiting from when the registry shows no DS record, not from when it was asked', async () => {
    await bench.turnOn();
    bench.world.registry.endWith({ kind: 'pending', delayMs: 600_000 });
    await bench.request(false);
    await bench.reconciler.advanceDue();
    await bench.pass(3 * HOUR_MS);
    assert.deepEqual((await bench.row()).ds_removed_at, bench.world.clock.now());
    await bench.pass(DS_TTL_MS - 1);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.equal(await bench.state(), 'off');
    assert.equal(bench.world.registry.updates.length, 2);
  });

  it('keeps the keys as long as the registry refuses', async () => {
    await bench.turnOn();
    bench.world.registry.endWith(...Array.from({ length: 40 }, () => ({ kind: 'rejected', code: 'other' }) as const));
    await bench.request(false);
    await bench.reconciler.advanceDue();
    await bench.pass(36 * HOUR_MS, 36);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    assert.match((await bench.row()).dnssec_failure ?? '', /does not do this for dnssec/);
    bench.world.registry.endWith();
    await bench.pass(HOUR_MS);
    await bench.pass(DS_TTL_MS);
    assert.equal(await bench.state(), 'off');
  });

  it('starts over when DS records come back while it waits', async () => {
    await bench.turnOn();
    const dsRecords = bench.world.registry.dsOf(bench.zone.name);
    await bench.request(false);
    await bench.reconciler.advanceDue();
    bench.world.clock.advance(HOUR_MS);
    bench.world.registry.setDs(bench.zone.name, dsRecords);
    await bench.pass(DS_TTL_MS);
    assert.deepEqual(bench.world.registry.dsOf(bench.zone.name), []);
    await bench.pass(DS_TTL_MS - 1);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.equal(await bench.state(), 'off');
    assert.deepEqual(bench.world.breaches, []);
  });

  it('drops no key while the registry works on an update, which may bring DS records', async () => {
    await bench.turnOn();
    const dsRecords = bench.world.registry.dsOf(bench.zone.name);
    await bench.request(false);
    await bench.reconciler.advanceDue();
    bench.world.clock.advance(DS_TTL_MS - 1);
    bench.world.registry.endWith({ kind: 'pending', delayMs: HOUR_MS });
    await bench.world.registry.update({ name: bench.zone.name, transactionId: 'of-someone-else', dsRecords });
    await bench.pass(1);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(2 * HOUR_MS);
    await bench.pass(DS_TTL_MS);
    assert.equal(await bench.state(), 'off');
    assert.deepEqual(bench.world.breaches, []);
  });

  it('gives resolvers more time when the operator says so meanwhile', async () => {
    await bench.turnOn();
    await bench.request(false);
    await bench.reconciler.advanceDue();
    bench.reconciler = createDnssecReconciler({ ...bench.world.options, db: bench.db, dsTtlMs: 2 * DS_TTL_MS });
    await bench.pass(2 * DS_TTL_MS - 1, 2);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.equal(await bench.state(), 'off');
  });

  it('keeps the keys of a name that went to another registrar with its DS records', async () => {
    await bench.turnOn();
    bench.world.registry.transferAway(bench.zone.name);
    await bench.request(false);
    await bench.reconciler.advanceDue();
    await bench.pass(2 * DS_TTL_MS, 10);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    assert.equal(bench.world.registry.updates.length, 1);
    assert.match((await bench.row()).dnssec_failure ?? '', /Another registrar/);
  });

  it('works for a publisher that signs nothing', async () => {
    await bench.turnOn();
    bench.reconciler = createDnssecReconciler({
      ...bench.world.options,
      db: bench.db,
      publisher: { supportsDnssec: false },
    });
    await bench.request(false, false);
    await bench.reconciler.advanceDue();
    await bench.pass(DS_TTL_MS);
    assert.equal(await bench.state(), 'off');
  });
});
