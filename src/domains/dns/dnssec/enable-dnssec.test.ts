import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDnssecWorld, DS_TTL_MS, useDnssec } from '../../../../test/support/dnssec-zones.ts';
import { createDnssecReconciler, listKeys } from './index.ts';

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
    const { dnssec_failure, dnssec_registry_said } = await bench.row();
    assert.equal(dnssec_failure, 'A step did not succeed. It is tried again.');
    assert.match(dnssec_registry_said ?? '', /no answer in time/);
    await bench.pass(HOUR_MS);
    assert.equal(await bench.state(), 'on');
  });

  it('repeats what a locked name refuses, and gets there once it is unlocked', async () => {
    const locked = { kind: 'rejected', code: 'status_prohibits' } as const;
    bench.world.registry.endWith(locked, locked);
    await bench.request(true);
    await bench.reconciler.advanceDue();
    const waiting = await bench.row();
    assert.match(waiting.dnssec_failure ?? '', /is locked, or the registry has not finished/);
    assert.equal(waiting.dnssec_registry_said, 'refused: status_prohibits');
    await bench.pass(HOUR_MS, 4);
    assert.equal(await bench.state(), 'on');
    assert.equal((await bench.row()).dnssec_registry_said, null);
  });

  it('is given up when the registry has no DNSSEC, at once, and says why', async () => {
    bench.world.registry.endWith({ kind: 'rejected', code: 'policy' });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.events, ['sign', 'unsign']);
    const { dnssec, dnssec_refusal, dnssec_registry_said, ds_records } = await bench.row();
    assert.deepEqual(
      { dnssec, dnssec_refusal, dnssec_registry_said, ds_records },
      {
        dnssec: 'off',
        dnssec_refusal: `The rules of the registry do not allow this for ${bench.zone.name}.`,
        dnssec_registry_said: 'refused: policy',
        ds_records: [],
      },
    );
    const { rows } = await bench.db.query<{ data: object }>({
      text: "select data from domains.events where type = 'dnssec.refused' and data ->> 'domain' = $1",
      values: [bench.zone.name],
    });
    assert.deepEqual(rows, [{ data: { domain: bench.zone.name, reason: dnssec_refusal } }]);
    // What its owner is told is ours; the operator has the registry's words.
    const shown = (await listKeys(bench.db, { all: true, limit: 1_000 })).find(({ name }) => name === bench.zone.name);
    assert.deepEqual([shown?.failure, shown?.registry_said], [dnssec_refusal, 'refused: policy']);
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
