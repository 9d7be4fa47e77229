/** A replica's row over time, on a clock that the tests turn. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createManualClock, runWithClock } from '../../../kernel/clock/clock.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { StoreUnavailableError } from '../../../kernel/db/sql-errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { beginLeaving, registerReplica, removeSilentReplicas } from '../store/replica.ts';
import { createHeartbeat } from './heartbeat.ts';

describeOnEachStore('the heartbeat of a replica', {}, (current) => {
  /** `answer` stands between the replica and its store. */
  async function openScene({ isStarted = true } = {}) {
    const { db } = current();
    const replicaId = mintId('rep');
    const scene = {
      clock: createManualClock(new Date(0)),
      replicaId,
      holdsTurns: false,
      announced: 0,
      lostTurns: 0,
      statements: [] as string[],
      underWay: 0,
      answer: (ask: () => Promise<unknown>, _text: string): Promise<unknown> => ask(),
    };
    const query = async (statement: Statement) => {
      scene.statements.push(statement.text);
      scene.underWay += 1;
      try {
        return await scene.answer(() => db.query(statement), statement.text);
      } finally {
        scene.underWay -= 1;
      }
    };
    await registerReplica(db, replicaId);
    const heartbeat = runWithClock(scene.clock, () =>
      createHeartbeat({
        db: { query, kind: db.kind } as unknown as Database,
        logger: openTestLogger(),
        replicaId,
        holdsTurns: () => scene.holdsTurns,
        onActive: () => {
          scene.announced += 1;
        },
        onLostTurn: () => {
          scene.lostTurns += 1;
        },
      }),
    );
    if (isStarted) heartbeat.start();
    /** Whatever the heartbeat does now is done. */
    const settle = async () => {
      do {
        await nextTurn();
        await db.query({ text: 'select 1', values: [] });
        await nextTurn();
      } while (scene.underWay > 0);
    };
    const pass = async (seconds: number) => {
      for (let passed = 0; passed < seconds; passed += 1) {
        scene.clock.advance(1_000);
        await settle();
      }
    };
    const readRow = async () => {
      const { rows } = await db.query<{ resting: boolean; leaving: boolean; fresh: boolean }>({
        text: `select resting, leaving, heartbeat_at > now() - interval '5 seconds' as fresh from replicas where id = $1`,
        values: [replicaId],
      });
      return rows[0];
    };
    const ageRow = async () =>
      db.query({
        text: `update replicas set heartbeat_at = heartbeat_at - interval '2 hours' where id = $1`,
        values: [replicaId],
      });
    return Object.assign(scene, { db, heartbeat, settle, pass, readRow, ageRow });
  }

  const nothing = async () => undefined;
  const RESTING = { resting: true, leaving: false, fresh: true };
  const BEATING = { resting: false, leaving: false, fresh: true };
  const isRest = (text: string) => text.includes('resting = true');

  it('an idle replica writes nothing, and its row says that it rests', async () => {
    const scene = await openScene();
    await scene.pass(120);
    assert.deepEqual([scene.statements, await scene.readRow()], [[], RESTING]);
    await scene.heartbeat.stop();
  });

  it('work after a rest begins once its heartbeat is in the store', async () => {
    const scene = await openScene();
    await scene.ageRow();
    assert.deepEqual(await scene.heartbeat.during(scene.readRow), BEATING);
    assert.deepEqual([scene.statements.length, scene.announced], [1, 1]);
    await scene.heartbeat.stop();
  });

  it('work begins without a statement while heartbeats are fresh, and many that begin together share one', async () => {
    const scene = await openScene();
    const rows = await Promise.all(Array.from({ length: 20 }, () => scene.heartbeat.during(scene.readRow)));
    assert.ok(rows.every((row) => row?.resting === false));
    await scene.settle();
    assert.equal(scene.statements.length, 1);
    let hasBegun = false;
    const work = scene.heartbeat.during(async () => {
      hasBegun = true;
    });
    assert.ok(hasBegun, 'at once');
    await work;
    assert.equal(scene.statements.length, 1);
    await scene.heartbeat.stop();
  });

  it('a replica beats each second while it holds turns, and for a few seconds more, and then rests', async () => {
    const scene = await openScene();
    await scene.heartbeat.during(async () => {
      scene.holdsTurns = true;
    });
    await scene.settle();
    scene.statements.length = 0;
    await scene.pass(60);
    assert.equal(scene.statements.length, 60);
    scene.holdsTurns = false;
    await scene.pass(3);
    assert.deepEqual([scene.statements.filter(isRest).length, await scene.readRow()], [0, BEATING]);
    await scene.pass(60);
    assert.deepEqual([scene.statements.length < 70, isRest(scene.statements.at(-1) ?? '')], [true, true]);
    assert.deepEqual([await scene.readRow(), scene.announced], [RESTING, 1]);
    await scene.heartbeat.during(nothing);
    assert.equal(scene.announced, 2, 'again after each rest');
    await scene.heartbeat.stop();
  });

  it('work that takes long is under heartbeats until its end', async () => {
    const scene = await openScene();
    const long = Promise.withResolvers<void>();
    const work = scene.heartbeat.during(() => long.promise);
    await scene.settle();
    await scene.pass(60);
    assert.deepEqual([scene.statements.length >= 60, scene.statements.filter(isRest).length], [true, 0]);
    long.resolve();
    await work;
    await scene.heartbeat.stop();
  });

  /** A scene whose replica has asked to rest; `release` lets the store answer. */
  async function openRestingScene() {
    const scene = await openScene();
    await scene.heartbeat.during(nothing);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let isAsked = false;
    scene.answer = async (ask, text) => {
      if (isRest(text)) {
        isAsked = true;
        await released;
      }
      return ask();
    };
    while (!isAsked) {
      scene.clock.advance(1_000);
      await scene.db.query({ text: 'select 1', values: [] });
      await nextTurn();
    }
    return Object.assign(scene, { release });
  }

  it('work that begins while the replica goes to rest waits for the next heartbeat', async () => {
    const scene = await openRestingScene();
    const row = scene.heartbeat.during(async () => {
      scene.holdsTurns = true;
      return scene.readRow();
    });
    await nextTurn();
    scene.release();
    assert.deepEqual(await row, BEATING);
    await scene.settle();
    await scene.pass(3);
    assert.deepEqual(await scene.readRow(), BEATING);
    await scene.heartbeat.stop();
  });

  it('a hold that begins while the replica goes to rest ends the rest', async () => {
    const scene = await openRestingScene();
    scene.heartbeat.hold();
    scene.release();
    await scene.settle();
    assert.deepEqual(await scene.readRow(), BEATING);
    await scene.heartbeat.stop();
  });

  it('a turn that the store has of this replica keeps it from resting', async () => {
    const scene = await openScene();
    const { db, replicaId } = scene;
    await db.transaction(async (tx) => {
      const values = [mintId('run'), replicaId];
      await tx.query({ text: 'alter table runs disable trigger all', values: [] });
      await tx.query({
        text: `
          insert into runs (project_id, id, smith_id, thread_id, turn, status, channel, input, config, replica_id)
          values ('prj_none', $1, $1, 'thr_none', 1, 'in_progress', 'api', '[]', '{}', $2)`,
        values,
      });
      await tx.query({ text: 'alter table runs enable trigger all', values: [] });
    });
    await scene.heartbeat.during(nothing);
    await scene.pass(30);
    assert.deepEqual([await scene.readRow(), scene.lostTurns > 0], [BEATING, true]);
    assert.equal(scene.announced, 1);
    await db.query({ text: 'delete from runs where replica_id = $1', values: [replicaId] });
    await scene.pass(2);
    assert.deepEqual(await scene.readRow(), RESTING);
    await scene.heartbeat.stop();
  });

  it('the row of a replica that rests for long is removed, and comes back with its next heartbeat', async () => {
    const scene = await openScene();
    await scene.ageRow();
    await removeSilentReplicas(scene.db);
    assert.equal(await scene.readRow(), undefined);
    assert.deepEqual(await scene.heartbeat.during(scene.readRow), BEATING);
    await scene.heartbeat.stop();
  });

  it('a replica whose row was removed while it rested says all the same that it stops', async () => {
    const scene = await openScene();
    await scene.ageRow();
    await removeSilentReplicas(scene.db);
    await beginLeaving(scene.db, scene.replicaId);
    assert.deepEqual(await scene.heartbeat.during(scene.readRow), { ...BEATING, leaving: true });
    await scene.heartbeat.stop();
  });

  it('work does not begin where the heartbeat before it fails', async () => {
    const scene = await openScene();
    scene.answer = () => Promise.reject(new StoreUnavailableError('gone'));
    let hasBegun = false;
    const work = scene.heartbeat.during(async () => {
      hasBegun = true;
    });
    await assert.rejects(work, /gone/);
    assert.equal(hasBegun, false);
    scene.answer = (ask) => ask();
    await scene.heartbeat.during(nothing);
    assert.deepEqual(await scene.readRow(), BEATING);
    await scene.heartbeat.stop();
  });

  it('work whose answer is lost has lost turns looked for once the store answers again', async () => {
    const scene = await openScene();
    await scene.heartbeat.during(nothing);
    const lost = scene.heartbeat.during(() => Promise.reject(new StoreUnavailableError('gone')));
    await assert.rejects(lost, /gone/);
    assert.equal(scene.lostTurns, 0);
    await scene.pass(2);
    assert.equal(scene.lostTurns, 1);
    const refused = scene.heartbeat.during(() => Promise.reject(new Error('no')));
    await assert.rejects(refused, /no/);
    await scene.pass(2);
    assert.equal(scene.lostTurns, 1);
    await scene.heartbeat.stop();
  });

  it('work without a lease is under heartbeats while it is held, which end with it', async () => {
    const scene = await openScene();
    const release = scene.heartbeat.hold();
    await scene.settle();
    await scene.pass(10);
    assert.deepEqual([scene.statements.length, await scene.readRow()], [11, BEATING]);
    release();
    release();
    await scene.pass(60);
    assert.deepEqual([scene.statements.length, await scene.readRow()], [12, RESTING]);
    await scene.heartbeat.stop();
  });

  it('work that began before the start is under heartbeats after it', async () => {
    const scene = await openScene({ isStarted: false });
    const release = scene.heartbeat.hold();
    await scene.pass(3);
    assert.deepEqual(scene.statements, []);
    scene.heartbeat.start();
    await scene.settle();
    await scene.pass(3);
    assert.deepEqual([scene.statements.length, await scene.readRow()], [4, BEATING]);
    release();
    await scene.heartbeat.stop();
  });

  it('no work begins after the stop, and no row is written', async () => {
    const scene = await openScene();
    await scene.heartbeat.stop();
    await assert.rejects(scene.heartbeat.during(nothing), { code: 'service_overloaded' });
    scene.heartbeat.hold();
    await scene.pass(5);
    assert.deepEqual(scene.statements, []);
  });
});
