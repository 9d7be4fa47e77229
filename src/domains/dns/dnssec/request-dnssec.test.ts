import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DS_TTL_MS, insertZone, useDnssec } from '../../../../test/support/dnssec-zones.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { systemDb } from '../../workspace-scope.ts';
import { createDnssecReconciler, requestDnssec } from './index.ts';

const HOUR_MS = 3_600_000;

const bench = useDnssec();

describe('another wish in the middle', () => {
  it('off before anything was done leaves nothing behind, at once', async () => {
    await bench.request(true);
    assert.equal(await bench.request(false), 'disabling');
    await bench.reconciler.advanceDue();
    assert.equal(await bench.state(), 'off');
    assert.deepEqual(bench.world.events, []);
    assert.equal(bench.world.registry.updates.length, 0);
  });

  it('off while DS records may have been handed over waits as if they had been', async () => {
    bench.world.registry.endWith({ kind: 'lost' });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    await bench.request(false);
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.registry.updates.at(-1)?.dsRecords, []);
    await bench.pass(DS_TTL_MS - 1);
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
    await bench.pass(1);
    assert.equal(await bench.state(), 'off');
  });

  it('off while the registry still works on the DS records takes them away afterwards', async () => {
    bench.world.registry.endWith({ kind: 'pending', delayMs: HOUR_MS });
    await bench.request(true);
    await bench.reconciler.advanceDue();
    await bench.request(false);
    await bench.pass(2 * HOUR_MS, 20);
    assert.deepEqual(bench.world.events, ['sign', 'ds 1', 'ds 0']);
    await bench.pass(DS_TTL_MS, 5);
    assert.equal(await bench.state(), 'off');
    assert.deepEqual(bench.world.breaches, []);
  });

  it('on while the keys are still there uses them again', async () => {
    await bench.turnOn();
    await bench.request(false);
    await bench.reconciler.advanceDue();
    await bench.pass(HOUR_MS);
    assert.equal(await bench.request(true), 'enabling');
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.events, ['sign', 'ds 1', 'ds 0', 'ds 1']);
    await bench.pass(2 * DS_TTL_MS);
    assert.equal(await bench.state(), 'on');
    assert.ok(bench.world.signer.hasKey(bench.zone.name));
  });

  it('on while the keys are just being dropped makes new ones', async () => {
    await bench.turnOn();
    await bench.request(false);
    await bench.reconciler.advanceDue();
    const { zones } = bench.world.options;
    const unsign = async (name: string) => {
      await bench.request(true);
      await zones.unsign(name);
    };
    bench.reconciler = createDnssecReconciler({ ...bench.world.options, db: bench.db, zones: { ...zones, unsign } });
    await bench.pass(DS_TTL_MS);
    assert.equal(await bench.state(), 'on');
    assert.deepEqual(bench.world.events, ['sign', 'ds 1', 'ds 0', 'unsign', 'sign', 'ds 1']);
    assert.deepEqual(bench.world.breaches, []);
  });
});

describe('a request', () => {
  it('is refused where zones cannot be signed, but off is always allowed', async () => {
    await assert.rejects(
      bench.request(true, false),
      (error) => error instanceof ApiError && error.code === 'bad_request',
    );
    assert.equal(await bench.request(false, false), 'off');
  });

  it('for a domain without a zone, or of another workspace, is refused alike', async () => {
    const { domainId } = bench.zone;
    const stranger = await insertZone(bench.db, `stranger.example`);
    for (const id of [domainId, 'dom_none']) {
      const wish = { workspaceId: stranger.workspaceId, domainId: id, on: true, publisher: { supportsDnssec: true } };
      const refused = bench.db.transaction((tx) => requestDnssec(tx, wish));
      await assert.rejects(refused, (error) => error instanceof ApiError && error.code === 'no_hosted_zone');
    }
    assert.equal(await bench.state(), 'off');
  });

  it('for what is so already changes nothing', async () => {
    assert.equal(await bench.request(false), 'off');
    await bench.turnOn();
    assert.equal(await bench.request(true), 'on');
    await bench.reconciler.advanceDue();
    assert.equal(bench.world.registry.updates.length, 1);
  });

  it('for off takes away DS records that came with the name, for which nobody here has a key', async () => {
    bench.world.registry.setDs(bench.zone.name, [{ keyTag: 7, algorithm: 8, digestType: 2, digest: 'CD'.repeat(32) }]);
    const snapshot = json(await bench.world.registry.info(bench.zone.name));
    const domains = systemDb(bench.db).updateTable('domains').set({ snapshot });
    await domains.where('id', '=', bench.zone.domainId).execute();
    assert.equal(await bench.request(false), 'disabling');
    await bench.reconciler.advanceDue();
    assert.deepEqual(bench.world.registry.dsOf(bench.zone.name), []);
    await bench.pass(DS_TTL_MS);
    assert.equal(await bench.state(), 'off');
  });

  it('wakes a reconciler that runs', async () => {
    const done = Promise.withResolvers<void>();
    const logger = { ...bench.world.options.logger, info: () => done.resolve() };
    bench.reconciler = createDnssecReconciler({
      ...bench.world.options,
      db: bench.db,
      logger,
      sweepIntervalMs: 3_600_000,
    });
    await bench.reconciler.start();
    await bench.request(true);
    await done.promise;
    await bench.reconciler.stop();
    assert.equal(await bench.state(), 'on');
  });
});
