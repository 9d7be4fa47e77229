import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  createDnssecWorld,
  type DnssecWorld,
  DS_TTL_MS,
  insertZone,
  type TestZone,
} from '../../../../test/support/dnssec-zones.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { systemDb } from '../../workspace-scope.ts';
import { createDnssecKeeper, type DnssecKeeper, requestDnssec } from './index.ts';

const HOUR_MS = 3_600_000;

describe('DNSSEC', () => {
  let database: TestDatabase;
  let world: DnssecWorld;
  let keeper: DnssecKeeper;
  let zone: TestZone;
  let names = 0;

  before(async () => {
    database = await openTestDatabase();
  });
  after(() => database?.close());
  beforeEach(async () => {
    world = createDnssecWorld();
    keeper = createDnssecKeeper({ ...world.options, db: database.db });
    await systemDb(database.db).updateTable('zones').set({ dnssec: 'off' }).execute();
    names += 1;
    zone = await insertZone(database.db, `dnssec${names}.example`);
    world.registry.add(zone.name);
  });

  function request(on: boolean, supportsDnssec = true): Promise<string> {
    const { workspaceId, domainId } = zone;
    const wish = { workspaceId, domainId, on, publisher: { supportsDnssec } };
    return database.db.transaction((tx) => requestDnssec(tx, wish));
  }

  function row() {
    const query = systemDb(database.db).selectFrom('zones').selectAll().where('domain_id', '=', zone.domainId);
    return query.executeTakeFirstOrThrow();
  }

  async function state(): Promise<string> {
    return (await row()).dnssec;
  }

  /** Lets time pass in steps, each of which the keeper looks into. */
  async function pass(ms: number, steps = 1): Promise<void> {
    const start = world.clock.now().getTime();
    for (let step = 1; step <= steps; step += 1) {
      world.clock.set(new Date(start + Math.floor((ms * step) / steps)));
      await keeper.advanceDue();
    }
  }

  async function turnOn(): Promise<void> {
    await request(true);
    await keeper.advanceDue();
    assert.equal(await state(), 'on');
  }

  describe('turning it on', () => {
    it('signs the zone before the registry hears of it', async () => {
      assert.equal(await request(true), 'enabling');
      await keeper.advanceDue();
      assert.deepEqual(world.events, ['sign', 'ds 1']);
      const { dnssec, ds_records } = await row();
      assert.equal(dnssec, 'on');
      assert.deepEqual(ds_records, world.registry.dsOf(zone.name));
    });

    it('waits for a registry that takes its time, and asks it once', async () => {
      world.registry.endWith({ kind: 'pending', delayMs: 10 * 60_000 });
      await request(true);
      await keeper.advanceDue();
      await pass(9 * 60_000, 9);
      assert.equal(await state(), 'enabling');
      await pass(10 * 60_000);
      assert.equal(await state(), 'on');
      assert.equal(world.registry.updates.length, 1);
    });

    it('finds out by info what became of an update without an answer', async () => {
      world.registry.endWith({ kind: 'unanswered' });
      await request(true);
      await keeper.advanceDue();
      assert.equal(await state(), 'enabling');
      await pass(60_000);
      assert.equal(await state(), 'on');
      assert.equal(world.registry.updates.length, 1);
    });

    it('repeats an update that was lost, later each time', async () => {
      world.registry.endWith({ kind: 'lost' }, { kind: 'lost' });
      await request(true);
      await keeper.advanceDue();
      assert.match((await row()).dnssec_failure ?? '', /no answer/);
      await pass(5_000);
      await pass(5_000);
      assert.equal(world.registry.updates.length, 2, 'the third is not due yet');
      await pass(5_000);
      assert.equal(await state(), 'on');
      assert.equal((await row()).dnssec_failure, null);
    });

    it('goes on when the registry could not be read', async () => {
      world.registry.failReads(1);
      await request(true);
      await keeper.advanceDue();
      assert.match((await row()).dnssec_failure ?? '', /no answer in time/);
      await pass(HOUR_MS);
      assert.equal(await state(), 'on');
    });

    it('repeats what a locked name refuses, and gets there once it is unlocked', async () => {
      const locked = { kind: 'rejected', code: 'status_prohibits' } as const;
      world.registry.endWith(locked, locked);
      await request(true);
      await keeper.advanceDue();
      assert.match((await row()).dnssec_failure ?? '', /refuses the DS records: refused: status_prohibits/);
      await pass(HOUR_MS, 4);
      assert.equal(await state(), 'on');
    });

    it('is given up when the registry has no DNSSEC, at once, and says why', async () => {
      world.registry.endWith({ kind: 'rejected', code: 'policy' });
      await request(true);
      await keeper.advanceDue();
      assert.deepEqual(world.events, ['sign', 'unsign']);
      const { dnssec, dnssec_refusal, ds_records } = await row();
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
      world.registry.endWith(
        { kind: 'lost' },
        { kind: 'rejected', code: 'policy' },
        { kind: 'rejected', code: 'policy' },
      );
      await request(true);
      await keeper.advanceDue();
      await pass(HOUR_MS);
      assert.equal(await state(), 'disabling');
      await pass(DS_TTL_MS - 1);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.equal(await state(), 'off');
      assert.ok(!world.signer.hasKey(zone.name));
    });

    it('waits for a name that the registry does not report yet', async () => {
      const registry = createDnssecWorld().registry;
      const early = createDnssecKeeper({ ...world.options, registry, db: database.db });
      await request(true);
      await early.advanceDue();
      assert.match((await row()).dnssec_failure ?? '', /does not report the name yet/);
      await pass(HOUR_MS);
      assert.equal(await state(), 'on');
    });
  });

  describe('turning it off', () => {
    it('takes the DS records away first and drops the keys when nobody remembers them', async () => {
      await turnOn();
      assert.equal(await request(false), 'disabling');
      await keeper.advanceDue();
      assert.deepEqual(world.events, ['sign', 'ds 1', 'ds 0']);
      await pass(DS_TTL_MS - 1, 50);
      assert.equal(await state(), 'disabling');
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.deepEqual(world.events, ['sign', 'ds 1', 'ds 0', 'unsign']);
      assert.equal(await state(), 'off');
      assert.deepEqual((await row()).ds_records, []);
    });

    it('counts the waiting from when the registry shows no DS record, not from when it was asked', async () => {
      await turnOn();
      world.registry.endWith({ kind: 'pending', delayMs: 600_000 });
      await request(false);
      await keeper.advanceDue();
      await pass(3 * HOUR_MS);
      assert.deepEqual((await row()).ds_removed_at, world.clock.now());
      await pass(DS_TTL_MS - 1);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.equal(await state(), 'off');
      assert.equal(world.registry.updates.length, 2);
    });

    it('keeps the keys as long as the registry refuses', async () => {
      await turnOn();
      world.registry.endWith(...Array.from({ length: 40 }, () => ({ kind: 'rejected', code: 'other' }) as const));
      await request(false);
      await keeper.advanceDue();
      await pass(36 * HOUR_MS, 36);
      assert.ok(world.signer.hasKey(zone.name));
      assert.match((await row()).dnssec_failure ?? '', /refuses to take DS records away/);
      world.registry.endWith();
      await pass(HOUR_MS);
      await pass(DS_TTL_MS);
      assert.equal(await state(), 'off');
    });

    it('starts over when DS records come back while it waits', async () => {
      await turnOn();
      const dsRecords = world.registry.dsOf(zone.name);
      await request(false);
      await keeper.advanceDue();
      world.clock.advance(HOUR_MS);
      world.registry.setDs(zone.name, dsRecords);
      await pass(DS_TTL_MS);
      assert.deepEqual(world.registry.dsOf(zone.name), []);
      await pass(DS_TTL_MS - 1);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.equal(await state(), 'off');
      assert.deepEqual(world.breaches, []);
    });

    it('drops no key while the registry works on an update, which may bring DS records', async () => {
      await turnOn();
      const dsRecords = world.registry.dsOf(zone.name);
      await request(false);
      await keeper.advanceDue();
      world.clock.advance(DS_TTL_MS - 1);
      world.registry.endWith({ kind: 'pending', delayMs: HOUR_MS });
      await world.registry.update({ name: zone.name, transactionId: 'of-someone-else', dsRecords });
      await pass(1);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(2 * HOUR_MS);
      await pass(DS_TTL_MS);
      assert.equal(await state(), 'off');
      assert.deepEqual(world.breaches, []);
    });

    it('gives resolvers more time when the operator says so meanwhile', async () => {
      await turnOn();
      await request(false);
      await keeper.advanceDue();
      keeper = createDnssecKeeper({ ...world.options, db: database.db, dsTtlMs: 2 * DS_TTL_MS });
      await pass(2 * DS_TTL_MS - 1, 2);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.equal(await state(), 'off');
    });

    it('keeps the keys of a name that went to another registrar with its DS records', async () => {
      await turnOn();
      world.registry.transferAway(zone.name);
      await request(false);
      await keeper.advanceDue();
      await pass(2 * DS_TTL_MS, 10);
      assert.ok(world.signer.hasKey(zone.name));
      assert.equal(world.registry.updates.length, 1);
      assert.match((await row()).dnssec_failure ?? '', /Another registrar/);
    });

    it('works for a publisher that signs nothing', async () => {
      await turnOn();
      keeper = createDnssecKeeper({ ...world.options, db: database.db, publisher: { supportsDnssec: false } });
      await request(false, false);
      await keeper.advanceDue();
      await pass(DS_TTL_MS);
      assert.equal(await state(), 'off');
    });
  });

  describe('another wish in the middle', () => {
    it('off before anything was done leaves nothing behind, at once', async () => {
      await request(true);
      assert.equal(await request(false), 'disabling');
      await keeper.advanceDue();
      assert.equal(await state(), 'off');
      assert.deepEqual(world.events, []);
      assert.equal(world.registry.updates.length, 0);
    });

    it('off while DS records may have been handed over waits as if they had been', async () => {
      world.registry.endWith({ kind: 'lost' });
      await request(true);
      await keeper.advanceDue();
      await request(false);
      await keeper.advanceDue();
      assert.deepEqual(world.registry.updates.at(-1)?.dsRecords, []);
      await pass(DS_TTL_MS - 1);
      assert.ok(world.signer.hasKey(zone.name));
      await pass(1);
      assert.equal(await state(), 'off');
    });

    it('off while the registry still works on the DS records takes them away afterwards', async () => {
      world.registry.endWith({ kind: 'pending', delayMs: HOUR_MS });
      await request(true);
      await keeper.advanceDue();
      await request(false);
      await pass(2 * HOUR_MS, 20);
      assert.deepEqual(world.events, ['sign', 'ds 1', 'ds 0']);
      await pass(DS_TTL_MS, 5);
      assert.equal(await state(), 'off');
      assert.deepEqual(world.breaches, []);
    });

    it('on while the keys are still there uses them again', async () => {
      await turnOn();
      await request(false);
      await keeper.advanceDue();
      await pass(HOUR_MS);
      assert.equal(await request(true), 'enabling');
      await keeper.advanceDue();
      assert.deepEqual(world.events, ['sign', 'ds 1', 'ds 0', 'ds 1']);
      await pass(2 * DS_TTL_MS);
      assert.equal(await state(), 'on');
      assert.ok(world.signer.hasKey(zone.name));
    });

    it('on while the keys are just being dropped makes new ones', async () => {
      await turnOn();
      await request(false);
      await keeper.advanceDue();
      const { zones } = world.options;
      const unsign = async (name: string) => {
        await request(true);
        await zones.unsign(name);
      };
      keeper = createDnssecKeeper({ ...world.options, db: database.db, zones: { ...zones, unsign } });
      await pass(DS_TTL_MS);
      assert.equal(await state(), 'on');
      assert.deepEqual(world.events, ['sign', 'ds 1', 'ds 0', 'unsign', 'sign', 'ds 1']);
      assert.deepEqual(world.breaches, []);
    });
  });

  describe('several workers', () => {
    it('never work on one zone at a time', async () => {
      const other = createDnssecKeeper({ ...world.options, db: database.db });
      await request(true);
      const counts = await Promise.all([keeper.advanceDue(), other.advanceDue()]);
      assert.deepEqual(counts.toSorted(), [0, 1]);
      assert.equal(world.registry.updates.length, 1);
    });

    it('take over from one that stalled, which then does nothing more', async () => {
      const stalled = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const sign = async (name: string) => {
        begun.resolve();
        await stalled.promise;
        return world.signer.sign(name);
      };
      const zones = { ...world.options.zones, sign };
      const slow = createDnssecKeeper({ ...world.options, db: database.db, zones });
      await request(true);
      const late = slow.advanceDue();
      await begun.promise;
      await pass(300_000);
      assert.equal(world.registry.updates.length, 0, 'its lease still stands');
      world.registry.endWith({ kind: 'lost' });
      await pass(300_000);
      assert.equal(world.registry.updates.length, 1);
      stalled.resolve();
      await late;
      assert.equal(world.registry.updates.length, 1);
      await pass(5_000);
      assert.equal(await state(), 'on');
    });
  });

  describe('a request', () => {
    it('is refused where zones cannot be signed, but off is always allowed', async () => {
      await assert.rejects(request(true, false), (error) => error instanceof ApiError && error.code === 'bad_request');
      assert.equal(await request(false, false), 'off');
    });

    it('for a domain without a zone, or of another workspace, is refused alike', async () => {
      const { domainId } = zone;
      const stranger = await insertZone(database.db, `stranger${names}.example`);
      for (const id of [domainId, 'dom_none']) {
        const wish = { workspaceId: stranger.workspaceId, domainId: id, on: true, publisher: { supportsDnssec: true } };
        const refused = database.db.transaction((tx) => requestDnssec(tx, wish));
        await assert.rejects(refused, (error) => error instanceof ApiError && error.code === 'no_hosted_zone');
      }
      assert.equal(await state(), 'off');
    });

    it('for what is so already changes nothing', async () => {
      assert.equal(await request(false), 'off');
      await turnOn();
      assert.equal(await request(true), 'on');
      await keeper.advanceDue();
      assert.equal(world.registry.updates.length, 1);
    });

    it('for off takes away DS records that came with the name, for which nobody here has a key', async () => {
      world.registry.setDs(zone.name, [{ keyTag: 7, algorithm: 8, digestType: 2, digest: 'CD'.repeat(32) }]);
      const snapshot = json(await world.registry.info(zone.name));
      const domains = systemDb(database.db).updateTable('domains').set({ snapshot });
      await domains.where('id', '=', zone.domainId).execute();
      assert.equal(await request(false), 'disabling');
      await keeper.advanceDue();
      assert.deepEqual(world.registry.dsOf(zone.name), []);
      await pass(DS_TTL_MS);
      assert.equal(await state(), 'off');
    });

    it('wakes a keeper that runs', async () => {
      const done = Promise.withResolvers<void>();
      const logger = { ...world.options.logger, info: () => done.resolve() };
      keeper = createDnssecKeeper({ ...world.options, db: database.db, logger, sweepIntervalMs: 3_600_000 });
      await keeper.start();
      await request(true);
      await done.promise;
      await keeper.stop();
      assert.equal(await state(), 'on');
    });
  });
});
