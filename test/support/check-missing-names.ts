/** A registry that says of names of ours that it has them not, or not with us: over EPP, wrongly and rightly. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { closeDueZones } from '../../src/domains/dns/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { syncDomain } from '../../src/domains/portfolio/record-info.ts';
import type { Registry } from '../../src/domains/registry/registry.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { done } from './simulated-registry.ts';

export async function testMissingNames(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;

  const service = await startDomainsOverEpp();
  const { answerWrongly, db, epp, later, owner } = service;
  const operator = createOperator({ db, clock: epp.clock });
  after(() => service.close());
  afterEach(async () => {
    answerWrongly(undefined);
    await service.letNamesGo();
  });

  const statusOf = async (workspace: TestWorkspace, name: string) => (await workspace.get(`/domains/${name}`)).status;
  const recordsOf = async (workspace: TestWorkspace, name: string): Promise<string[]> => {
    const { status, body, text } = await workspace.get(`/domains/${name}/zone`);
    assert.equal(status, 200, text);
    return body.records.flatMap(({ type, value }: { type: string; value: string }) => (type === 'A' ? [value] : []));
  };
  const addRecord = (workspace: TestWorkspace, name: string) =>
    workspace.post(`/domains/${name}/zone`, { subdomain: 'www', type: 'A', value: '192.0.2.1' });
  const zoneIsKept = async (name: string): Promise<boolean | undefined> => {
    const { rows } = await db.query<{ is_closed: boolean }>({
      text: 'select is_closed from domains.zones where name = $1',
      values: [name],
    });
    return rows[0] && !rows[0].is_closed;
  };
  /** Three sightings and a day. */
  const aDayOfSweeps = async () => {
    for (let look = 0; look < 4; look += 1) await later(8 * HOUR_MS + 1);
  };

  for (const code of share === 'all' ? ([2303, 2201] as const) : ([2303] as const)) {
    describe(`a wrong ${code}`, () => {
      test('costs nothing where a customer, the sweep, a deletion or a message asks', async () => {
        const name = `asked-${code}.com`;
        const workspace = await owner(name);
        assert.equal((await addRecord(workspace, name)).status, 201);
        let left = 1;
        const once = (wanted: string) => () => {
          left = 1;
          answerWrongly((command, asked) => (command === wanted && asked === name && left-- > 0 ? code : undefined));
        };
        const ways: readonly (readonly [arm: () => void, act: () => Promise<unknown>])[] = [
          [once('info'), () => workspace.get(`/domains/${name}`)],
          [once('info'), () => later(DAY_MS + 1)],
          [once('delete'), () => workspace.delete(`/domains/${name}?when=now`)],
          [once('info'), () => service.domains.orders.sweep()],
        ];
        for (const [arm, act] of ways) {
          arm();
          await act();
          answerWrongly(undefined);
          assert.equal(await statusOf(workspace, name), 200);
          assert.deepEqual(await recordsOf(workspace, name), ['192.0.2.1']);
        }
        assert.deepEqual((await operator.missing_names({})).names, [], 'a right answer ends the suspicion');
      });

      test('for ever, from one command alone, retires nothing', async () => {
        const name = `lasting-${code}.com`;
        const workspace = await owner(name);
        answerWrongly((command, asked) => (asked === name && command === 'info' ? code : undefined));
        for (let day = 0; day < 3; day += 1) await aDayOfSweeps();
        const { names } = await operator.missing_names({});
        assert.deepEqual(
          names.map((missing) => missing.name),
          [name],
        );
        assert.ok((names[0]?.sightings ?? 0) >= 9);
        assert.equal(await statusOf(workspace, name), 200);
      });
    });
  }

  test('a name that has left is retired after a day and three sightings, and its records are kept', async () => {
    const name = 'left.com';
    const workspace = await owner(name, 'stays.com');
    await addRecord(workspace, name);
    done(await epp.core.deleteDomain(epp.ours, { name }));
    const { body: before } = await workspace.get(`/domains/${name}`);
    assert.equal(before.status, 'Active', 'what the registry reported last');
    for (let look = 0; look < (share === 'all' ? 200 : 20); look += 1) await workspace.get(`/domains/${name}`);
    const [missing] = (await operator.missing_names({})).names;
    assert.deepEqual([missing?.name, missing?.sightings, missing?.announced], [name, 1, false]);
    await later(23 * HOUR_MS);
    assert.equal(await statusOf(workspace, name), 200, 'not a day yet');
    await later(8 * HOUR_MS + 1);
    assert.equal(await statusOf(workspace, name), 404);
    assert.equal(await statusOf(workspace, 'stays.com'), 200);
    assert.equal(await zoneIsKept(name), true);
  });

  soakTest?.(
    'one that the registry gives to another registrar by hand, and tells nobody, is named, and retired no sooner',
    async () => {
      const name = 'given-away.com';
      const workspace = await owner(name, 'not-given-away.com');
      await addRecord(workspace, name);
      done(await epp.core.moveDomain({ name, registrarId: epp.theirs.registrarId }));
      await workspace.get(`/domains/${name}`);
      await later(23 * HOUR_MS);
      const [missing] = (await operator.missing_names({})).names;
      assert.deepEqual([missing?.name, missing?.announced], [name, false]);
      assert.equal(await statusOf(workspace, name), 200, 'not a day yet');
      await aDayOfSweeps();
      assert.equal(await statusOf(workspace, name), 404);
      assert.equal(await statusOf(workspace, 'not-given-away.com'), 200);
      assert.equal(await zoneIsKept(name), true);
    },
  );

  soakTest?.('one that was handed over, as a message says, leaves after a day too, and stops nothing', async () => {
    const names = ['moved-one.com', 'moved-two.com', 'moved-three.com'];
    const workspace = await owner(...names, 'remains.com');
    for (const name of names) {
      const { authInfo } = done(await epp.core.infoDomain(epp.ours, { name }));
      done(await epp.core.requestTransfer(epp.theirs, { name, authInfo: authInfo ?? '' }));
    }
    await later(5 * DAY_MS + 1);
    // The message about the last comes once it was asked about.
    await later(0);
    const { is_stopped: isStopped, names: missing } = await operator.missing_names({});
    assert.deepEqual(
      [isStopped, missing.map(({ name, announced }) => `${name} ${announced}`).sort()],
      [false, names.map((name) => `${name} true`).sort()],
    );
    await aDayOfSweeps();
    for (const name of names) assert.equal(await statusOf(workspace, name), 404);
    assert.equal(await statusOf(workspace, 'remains.com'), 200);
  });

  test('a registry that is wrong about every name, by every command, costs no name, and is asked about few', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `all-${index}.com`);
    const workspace = await owner(...names);
    // A name that the registry has never reported is not missed, so that more are asked about.
    for (const name of names) assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Active');
    const asked = new Set<string>();
    answerWrongly((command, name) => {
      // Others have moved away, and are followed by their delegations.
      if (command === 'info' && names.includes(name)) asked.add(name);
      return 2303;
    });
    await later(DAY_MS + 1);
    assert.equal((await operator.missing_names({})).is_stopped, true);
    assert.equal(asked.size, 2, 'the second is one too many');
    for (let day = 0; day < 4; day += 1) await aDayOfSweeps();
    const { names: missing } = await operator.missing_names({});
    assert.equal(missing.length, 2);
    assert.equal((await workspace.get('/domains')).body.domains.length, names.length);
    answerWrongly(undefined);
    await later(8 * HOUR_MS + 1);
    assert.deepEqual(await operator.missing_names({}), { is_stopped: false, names: [] });
    for (const name of names) assert.equal(await statusOf(workspace, name), 200);
  });

  describe('what is asked of a name of ours', () => {
    for (const code of [2303, 2201] as const) {
      (code === 2303 ? test : soakTest)?.(
        `is no 404 on a wrong ${code}, nor is anything changed, and is done once the answer is right`,
        async () => {
          const name = `changed-${code}.com`;
          const workspace = await owner(name);
          const before = (await workspace.get(`/domains/${name}`)).body;
          answerWrongly((command, asked) => (asked === name && command === 'info' ? code : undefined));
          const unlock = { registrar_lock: !before.registrar_lock };
          const calls = {
            settings: () => workspace.patch(`/domains/${name}/settings`, unlock),
            code: () => workspace.post(`/domains/${name}/auth-code`),
            keys: () => workspace.put(`/domains/${name}/ds`, { ds_records: [] }),
          };
          for (const call of Object.values(calls)) {
            const refused = await call();
            assert.deepEqual(refusal(refused), [500, 'internal'], refused.text);
            assert.match(
              refused.body.details.message,
              /does not show changed-\d+\.com as yours now.*Nothing was changed/,
            );
          }
          assert.equal((await workspace.get(`/domains/${name}/ds`)).status, 200, 'what was reported last');
          answerWrongly(undefined);
          assert.equal((await workspace.get(`/domains/${name}`)).body.registrar_lock, before.registrar_lock);
          assert.equal((await calls.settings()).status, 200);
        },
      );
    }

    test('is no fault of the caller where the update alone is answered with 2303', async () => {
      const name = 'update-only.com';
      const workspace = await owner(name);
      answerWrongly((command, asked) => (asked === name && command === 'update' ? 2303 : undefined));
      const change = { registrar_lock: true };
      const refused = await workspace.patch(`/domains/${name}/settings`, change);
      assert.deepEqual(refusal(refused), [500, 'internal'], refused.text);
      answerWrongly(undefined);
      assert.equal((await workspace.patch(`/domains/${name}/settings`, change)).status, 200);
    });
  });

  describe('an operator', () => {
    test('retires what has truly left, and brings it back with its records for 60 days', async () => {
      const name = 'returns.com';
      const workspace = await owner(name, 'returns-two.com');
      await addRecord(workspace, name);
      await assert.rejects(operator.retire_name({ name }), /is not missing/);
      answerWrongly(() => 2303);
      await workspace.get(`/domains/${name}`);
      await workspace.get('/domains/returns-two.com');
      assert.equal((await operator.missing_names({})).is_stopped, true);
      assert.deepEqual(await operator.retire_name({ name: 'Returns.com' }), {
        name,
        workspace_id: workspace.workspaceId,
      });
      assert.equal((await operator.missing_names({})).is_stopped, false);
      answerWrongly(undefined);
      assert.equal(await statusOf(workspace, name), 404);

      assert.deepEqual(await operator.recover_name({ name }), {
        name,
        workspace_id: workspace.workspaceId,
        charged_cents: 0,
      });
      await assert.rejects(operator.recover_name({ name }), /is in the portfolio of wsp_\w+ already/);
      await later(0);
      const { body } = await workspace.get(`/domains/${name}`);
      assert.deepEqual([body.status, body.auto_renew], ['Active', true]);
      assert.deepEqual(await recordsOf(workspace, name), ['192.0.2.1']);
    });

    test('cannot bring back what was never here, and nothing after 60 days', async () => {
      await assert.rejects(operator.recover_name({ name: 'never-here.com' }), /was retired from no portfolio/);
      await assert.rejects(operator.recover_name({ name: 'no name' }), /is no domain name/);
      const name = 'old-loss.com';
      const workspace = await owner(name);
      await addRecord(workspace, name);
      done(await epp.core.deleteDomain(epp.ours, { name }));
      await aDayOfSweeps();
      await aDayOfSweeps();
      assert.equal(await statusOf(workspace, name), 404);
      epp.clock.advance(57 * DAY_MS);
      await closeDueZones(db, epp.clock.now(), 100);
      assert.equal(await zoneIsKept(name), true);
      epp.clock.advance(3 * DAY_MS);
      await assert.rejects(operator.recover_name({ name }), /more than 60 days ago/);
      await closeDueZones(db, epp.clock.now(), 100);
      assert.equal(await zoneIsKept(name), false);
    });
  });

  describe('a deletion', () => {
    test('that the registry refuses with 2303 or 2201, whatever else it says wrongly, removes nothing and changes nothing', async () => {
      const name = 'kept-alive.com';
      const workspace = await owner(name);
      for (const code of [2303, 2201] as const) {
        answerWrongly((command, asked) => (asked === name && command !== 'renew' ? code : undefined));
        const refused = await workspace.delete(`/domains/${name}?when=now`);
        assert.deepEqual(refusal(refused), [422, 'delete_failed'], refused.text);
        await later(8 * HOUR_MS + 1);
        answerWrongly(undefined);
        await later(8 * HOUR_MS + 1);
        const { body } = await workspace.get(`/domains/${name}`);
        assert.deepEqual([body.status, body.auto_renew, body.release_at], ['Active', true, null]);
      }
    });

    test('whose answer was lost explains why the name is not there: it leaves with the next sweep', async () => {
      const name = 'unheard.com';
      const workspace = await owner(name);
      // As if the process had ended after the command.
      await workspace.delete(`/domains/${name}?when=now`);
      await systemDb(db)
        .updateTable('domains')
        .set({ state: 'active', gone_at: null, release_at: null })
        .where('name', '=', name)
        .execute();
      await later(DAY_MS + 1);
      assert.equal(await statusOf(workspace, name), 404);
    });

    test('that did not happen explains nothing later', async () => {
      const name = 'undeleted.com';
      const workspace = await owner(name);
      const sent = { deletion_sent_at: epp.clock.now() };
      await systemDb(db).updateTable('domains').set(sent).where('name', '=', name).execute();
      await later(DAY_MS + 1);
      answerWrongly((_command, asked) => (asked === name ? 2303 : undefined));
      await later(DAY_MS + 1);
      assert.equal(await statusOf(workspace, name), 200);
    });
  });

  soakTest?.(
    'a release that is due explains nothing: a registry that renews by itself has the name still',
    async () => {
      const name = 'renewed-there.com';
      const workspace = await owner(name);
      assert.equal((await workspace.delete(`/domains/${name}?when=at_expiry`)).body.status, 'ReleaseScheduled');
      await systemDb(db).updateTable('domains').set({ release_at: epp.clock.now() }).where('name', '=', name).execute();
      answerWrongly((_command, asked) => (asked === name ? 2303 : undefined));
      await later(DAY_MS + 1);
      assert.equal(await statusOf(workspace, name), 200);
    },
  );

  test('a message that a name has left counts, also where another look records first that it is missing', async () => {
    const workspace = await owner('told.com');
    const here = workspaceDb(db, workspace.workspaceId);
    const find = async () =>
      here.selectFrom('domains').selectAll().where('name', '=', 'told.com').executeTakeFirstOrThrow();
    const row = await find();
    const now = epp.clock.now();
    const quick = { members: [], info: async () => undefined } as unknown as Registry;
    let asked = 0;
    const slow = {
      ...quick,
      async info() {
        asked += 1;
        if (asked === 1) await syncDomain({ db, registry: quick, now }, row);
        return undefined;
      },
    };
    await syncDomain({ db, registry: slow, now }, row, { isAnnounced: true });
    const { missing_announced, missing_sightings } = await find();
    assert.deepEqual([missing_announced, missing_sightings], [true, 1]);
  });
}
