/**
 * What an idle server asks of its store, and that turns which it begins after a rest are its own: a whole server on a clock that the tests
 * turn. Its database refuses a run that a replica would hold without a heartbeat.
 */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { clientTool, eventually, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';
import { createManualClock, type ManualClock, runWithClock } from '../../../kernel/clock/clock.ts';
import type { Database, Executor, Statement } from '../../../kernel/db/database.ts';
import { createVault } from '../../../kernel/vault/vault.ts';
import { addSigningKey, makeSigningPair } from '../../access/signing-keys.ts';
import { replicasKeepEnding } from '../store/replica.ts';

const { db, close } = await openTestDatabase();
const vault = createVault([createSecretKey(randomBytes(32))]);
await addSigningKey(db, vault, await makeSigningPair());
await db.query({
  text: `
    create function require_heartbeat() returns trigger language plpgsql as $$
    begin
      if not exists (
        select from replicas where id = new.replica_id and not resting and heartbeat_at > now() - interval '5 seconds'
      ) then
        raise exception 'run % is held by % without a heartbeat', new.id, new.replica_id;
      end if;
      return new;
    end $$;
    create trigger require_heartbeat before insert or update of replica_id on runs
      for each row when (new.status = 'in_progress' and new.replica_id <> 'rep_dead') execute function require_heartbeat()`,
});

const tools = createTestTools();
const servers: TestPlatform[] = [];
after(async () => {
  for (const server of servers) await server.close();
  await close();
});

interface Server extends TestPlatform {
  readonly clock: ManualClock;
  readonly replicaId: string;
  /** Texts of the statements that it has sent. */
  readonly statements: string[];
}

async function startServer(): Promise<Server> {
  const clock = createManualClock(new Date());
  const statements: string[] = [];
  const recorded = recordStatements(db, statements);
  const server = await runWithClock(clock, () =>
    startPlatform({ sharing: { db: recorded, vault }, toolSources: [tools.source] }),
  );
  servers.push(server);
  return { ...server, clock, statements, replicaId: server.platform.engine.replicaId };
}

function recordStatements(inner: Database, statements: string[]): Database {
  const recording = (executor: Executor): Pick<Executor, 'query'> => ({
    query: (statement: Statement) => {
      statements.push(statement.text);
      return executor.query(statement);
    },
  });
  return {
    ...recording(inner),
    kind: inner.kind,
    use: inner.use,
    wake: (channel) => inner.wake(channel),
    transaction: (work) =>
      inner.transaction((tx) =>
        work({
          ...recording(tx),
          wake: (channel) => tx.wake(channel),
          afterCommit: (action) => tx.afterCommit(action),
          notify: (channel, payload) => tx.notify(channel, payload),
        }),
      ),
    notify: (channel, payload) => inner.notify(channel, payload),
    listen: (channel, onMessage, onGap) => inner.listen(channel, onMessage, onGap),
    ping: () => inner.ping(),
    close: async () => {},
  };
}

/** Second by second, so that what a timer begins is done before the next. */
async function pass(server: Server, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    server.clock.advance(1_000);
    for (let turn = 0; turn < 3; turn += 1) {
      await nextTurn();
      await db.query({ text: 'select 1', values: [] });
    }
  }
}

async function readReplica(replicaId: string) {
  const { rows } = await db.query<{ resting: boolean; fresh: boolean }>({
    text: `select resting, heartbeat_at > now() - interval '5 seconds' as fresh from replicas where id = $1`,
    values: [replicaId],
  });
  return rows[0];
}

/** Lets the server come to rest; its last heartbeat is long ago then. */
async function rest(server: Server): Promise<void> {
  await eventually(async () => {
    await pass(server, 1);
    return (await readReplica(server.replicaId))?.resting === true || undefined;
  }, 'the server rests');
  await setHeartbeat(server.replicaId, '30 minutes');
}

async function setHeartbeat(replicaId: string, ago: string): Promise<void> {
  await db.query({
    text: 'update replicas set heartbeat_at = now() - $2::interval where id = $1',
    values: [replicaId, ago],
  });
}

/** As a replica leaves a turn that it is killed with, while the server rests; no wake-up tells of it. */
async function abandonRun(smith: TestSmith, replicaId: string | null): Promise<string> {
  const { body } = await smith.ask('Write 5 words');
  await rest(server);
  const values = [smith.project.projectId, body.id];
  await db.transaction(async (tx) => {
    await tx.query({ text: 'delete from run_steps where project_id = $1 and run_id = $2', values });
    await tx.query({
      text: `delete from messages where project_id = $1 and run_id = $2 and role = 'assistant'`,
      values,
    });
    await tx.query({ text: 'delete from run_events where project_id = $1 and run_id = $2 and seq > 1', values });
    await tx.query({
      text: `
        update runs set status = 'in_progress', replica_id = $3, output = null, stop_reason = null
        where project_id = $1 and id = $2`,
      values: [...values, replicaId],
    });
  });
  return body.id;
}

async function readRun(runId: string) {
  const { rows } = await db.query<{ attempt: number; interrupted_by: string[] | null; replica_id: string }>({
    text: 'select attempt, interrupted_by, replica_id from runs where id = $1',
    values: [runId],
  });
  return rows[0] ?? assert.fail('the run is gone');
}

const isHeartbeat = (text: string) => /(insert into|update) replicas/.test(text);
const isLook = (text: string) => text.includes('has_orphans');

const server = await startServer();

test('an idle server writes no heartbeat, and looks for turns to take over twice a minute', async () => {
  await rest(server);
  await pass(server, 60);
  server.statements.length = 0;
  await pass(server, 300);
  const looks = server.statements.filter(isLook).length;
  assert.deepEqual([server.statements.filter(isHeartbeat), looks >= 9 && looks <= 11], [[], true], `${looks} looks`);
});

/** Each way in which a run becomes a replica's, and its outcome for a server that has rested until then. */
const WAYS: Record<string, (smith: TestSmith) => Promise<string>> = {
  async 'a turn that is started'(smith) {
    await rest(server);
    return (await smith.ask('Write 3 words')).body.status;
  },
  async 'a turn that is started with a copy of its thread'(smith) {
    const { body } = await smith.ask('Write 3 words');
    await rest(server);
    return (await smith.project.post(`${smith.runs}/${body.id}/replay`, {})).body.status;
  },
  async 'a turn that a request resumes'(smith) {
    const { body } = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
    assert.equal(body.status, 'paused');
    await rest(server);
    const [call] = body.output.tool_calls;
    return (await smith.submit(body.id, { kind: 'tool_result', tool_call_id: call.id, result: {} })).body.status;
  },
  async 'a turn that goes on by itself'(smith) {
    const { body } = await smith.ask('Call the tool ask with {"seconds":900}');
    assert.equal(body.status, 'paused');
    await rest(server);
    await db.query({ text: 'update approvals set expires_at = now() where run_id = $1', values: [body.id] });
    return untilSettled(smith, body.id);
  },
  async 'a turn that its replica has released'(smith) {
    const runId = await abandonRun(smith, null);
    await db.notify('run_orphans', '');
    return untilSettled(smith, runId);
  },
  async 'a turn whose replica has died'(smith) {
    const runId = await abandonRun(smith, 'rep_dead');
    await db.notify('run_orphans', '');
    return untilSettled(smith, runId);
  },
};

/** Time passes until then. */
async function untilSettled(smith: TestSmith, runId: string): Promise<string> {
  return eventually(async () => {
    await pass(server, 1);
    const { status } = await smith.get(runId);
    return ['in_progress', 'paused'].includes(status) ? undefined : status;
  }, 'the run settles');
}

for (const [way, go] of Object.entries(WAYS)) {
  test(`${way} is held under a fresh heartbeat after a rest`, async () => {
    const smith = await makeSmith(server);
    assert.equal(await go(smith), 'completed');
  });
}

test('a server that holds a question goes on beating, until the run has ended', async () => {
  const smith = await makeSmith(server);
  const { body } = await smith.ask('Call the tool ask with {"seconds":900,"held":true}');
  assert.equal(body.status, 'paused');
  await pass(server, 30);
  assert.deepEqual(await readReplica(server.replicaId), { resting: false, fresh: true });
  await smith.cancel(body.id);
  await rest(server);
});

test('a server that runs a job beats, so that its end meanwhile is an abrupt one', async () => {
  await rest(server);
  const release = server.platform.engine.heartbeat.hold();
  await pass(server, 30);
  assert.deepEqual(await readReplica(server.replicaId), { resting: false, fresh: true });
  release();
  await rest(server);
});

test('a server killed while it rests is no abrupt end', async () => {
  await rest(server);
  await db.query({
    text: `insert into replicas (id, heartbeat_at) values ('rep_dead', now() - interval '10 seconds')`,
  });
  await setHeartbeat(server.replicaId, '10 seconds');
  assert.equal(await replicasKeepEnding(db), false);
  await db.query({ text: `update replicas set resting = false where id = $1`, values: [server.replicaId] });
  assert.equal(await replicasKeepEnding(db), true, 'it would be one if the row did not say so');
  await db.query({ text: `delete from replicas where id = 'rep_dead'` });
});

test('an idle server that misses a wake-up takes over the turn of a dead replica within 30 seconds', async () => {
  const smith = await makeSmith(server);
  // Its lease has not lapsed yet.
  await db.query({
    text: `insert into replicas (id, heartbeat_at, resting) values ('rep_dead', now() + interval '1 hour', true)`,
  });
  const runId = await abandonRun(smith, 'rep_dead');
  await pass(server, 90);
  assert.equal((await readRun(runId)).attempt, 1);
  await db.query({ text: `delete from replicas where id = 'rep_dead'` });
  await pass(server, 31);
  const run = await eventually(async () => {
    const found = await readRun(runId);
    return found.attempt === 2 ? found : undefined;
  }, 'the turn is taken over');
  assert.deepEqual([run.interrupted_by, run.replica_id], [['rep_dead'], server.replicaId]);
  assert.equal(await untilSettled(smith, runId), 'completed');
});

test('a server that drains and stops says so once, and its row is removed for good', async () => {
  const stopping = await startServer();
  await stopping.platform.drain(0);
  await stopping.platform.stop();
  assert.equal(stopping.statements.filter((text) => text.includes('leaving = true')).length, 1);
  assert.equal(await readReplica(stopping.replicaId), undefined);
});

test('another server watches one that begins a turn after a rest, takes nothing from it, and takes over when it dies', async () => {
  const other = await startServer();
  await rest(server);
  await rest(other);
  await pass(other, 120);
  const smith = await makeSmith(server);
  other.statements.length = 0;
  const runId = await smith.begin('Call the tool gate with {}');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  await eventually(() => other.statements.some(isLook) || undefined, 'the other server is woken, at once');
  other.statements.length = 0;
  await eventually(async () => {
    await pass(server, 1);
    await pass(other, 1);
    return other.statements.filter(isLook).length >= 10 || undefined;
  }, 'the other server looks each second');
  assert.deepEqual([(await readRun(runId)).attempt, (await readReplica(other.replicaId))?.resting], [1, true]);
  // Killed: no time passes for it any more.
  await setHeartbeat(server.replicaId, '6 seconds');
  await pass(other, 2);
  await eventually(() => tools.callsOf(runId)[1], 'the other server makes the call again');
  const { attempt, interrupted_by, replica_id } = await readRun(runId);
  assert.deepEqual([attempt, interrupted_by, replica_id], [2, [server.replicaId], other.replicaId]);
  tools.open(runId);
  await eventually(async () => {
    await pass(other, 1);
    return (await smith.get(runId)).status === 'completed' || undefined;
  }, 'the turn ends');
});
