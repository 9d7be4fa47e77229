import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDnssecWorld, DS_TTL_MS, useDnssec } from '../../../../test/support/dnssec-zones.ts';
import { createDnssecReconciler } from './index.ts';

const HOUR_MS = 3_600_000;

const bench = useDnssec();

describe('turning it on', () => {
  it('signs the zone before the registry hears of it', async () => {
    assert.equal(await bench.request(true), 'enabling');
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.events, ['sign', 'ds 1']);
    const { dnssec, ds_records } = await bench.row();
    assert.equal(dnssec, 'on');
    assert.deepEqual(ds_records, bench.world.registry.dsOf(bench.zone.name));
  });

  it('waits for a registry that takes its time, and asks it once', async () => {
    bench.world.registry.endWith({ kind: 'pending', delayMs: 10 * 60_000 });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    await bench.pass(9 * 60_000, 9);
    assert.equal(await bench.state(), 'enabling');
    await bench.pass(10 * 60_000);
    assert.equal(await bench.state(), 'on');
    assert.equal(bench.world.registry.updates.length, 1);
  });

  it('finds out by info what became of an update without an answer', async () => {
    bench.world.registry.endWith({ kind: 'unanswered' });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.equal(await bench.state(), 'enabling');
    await bench.pass(60_000);
    assert.equal(await bench.state(), 'on');
    assert.equal(bench.world.registry.updates.length, 1);
  });

  it('repeats an update that was lost, later each time', async () => {
    bench.world.registry.endWith({ kind: 'lost' }, { kind: 'lost' });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.match((await bench.row()).dnssec_failure ?? '', /no answer/);
    await bench.pass(5_000);
    await bench.pass(5_000);
    assert.equal(bench.world.registry.updates.length, 2, 'the third is not due yet');
    await bench.pass(5_000);
    assert.equal(await bench.state(), 'on');
    assert.equal((await bench.row()).dnssec_failure, null);
  });

  it('goes on when the registry could not be read', async () => {
    bench.world.registry.failReads(1);
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.match((await bench.row()).dnssec_failure ?? '', /no answer in time/);
    await bench.pass(HOUR_MS);
    assert.equal(await bench.state(), 'on');
  });

  it('repeats what a locked name refuses, and gets there once it is unlocked', async () => {
    const locked = { kind: 'rejected', code: 'status_prohibits' } as const;
    bench.world.registry.endWith(locked, locked);
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.match((await bench.row()).dnssec_failure ?? '', /refuses the DS records: refused: status_prohibits/);
    await bench.pass(HOUR_MS, 4);
    assert.equal(await bench.state(), 'on');
  });

  it('is given up when the registry has no DNSSEC, at once, and says why', async () => {
    bench.world.registry.endWith({ kind: 'rejected', code: 'policy' });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.events, ['sign', 'unsign']);
    const { dnssec, dnssec_refusal, ds_records } = await bench.row();
    assert.deepEqual(
      { dnssec, dnssec_refusal, ds_records },
      {
        dnssec: 'off',
        dnssec_refusal: 'refused: policy',
        ds_records: [],
      },
    );
  });

  it('keeps the keys of a refused attempt while an earlier one may have come through', async () => {
    bench.world.registry.endWith(
      { kind: 'lost' },
      { kind: 'rejected', code: 'policy' },
      { kind: 'rejected', code: 'policy' },
    );
    await bench.request(true);
    await bench.reconciler.advanceDue();
    await bench.pass(HOUR_MS);
    assert.equal(await bench.state(), 'disabling');
    await bench.pass(DS_TTL_MS - 1);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.equal(await bench.state(), 'off');
    assert.ok(!bench.world.signer.hasKey(bench.zone.name));
  });

  it('waits for a name that the registry does not report yet', async () => {
    const registry = createDnssecWorld().registry;
    const early = createDnssecReconciler({ ...bench.world.options, registry, db: bench.db });
    await bench.request(true);
    await early.advanceDue();
    assert.match((await bench.row()).dnssec_failure ?? '', /does not report the name yet/);
    await bench.pass(HOUR_MS);
    assert.equal(await bench.state(), 'on');
  });
});
