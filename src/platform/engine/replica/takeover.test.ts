import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { assemble, isType, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());

interface Abandoned {
  /** Replicas that ended before the last one, which is `rep_dead`. */
  readonly interruptedBy?: readonly string[];
  /** Alone among the suspects when the last one ended. */
  readonly alone?: boolean;
  /** A step was completed since it was taken over. */
  readonly progress?: boolean;
  readonly replicaId?: string;
  /** Something is reserved for its call of a model. */
  readonly reserves?: boolean;
}

/** A run that is in progress at a replica that has ended. */
async function abandonRun(abandoned: Abandoned): Promise<{ smith: TestSmith; runId: string }> {
  const { interruptedBy = [], alone = false, progress = false, replicaId = 'rep_dead', reserves = false } = abandoned;
  const { db } = platform;
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Write 5 words');
  const ids = [smith.project.projectId, run.id];
  if (reserves) await smith.project.post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
  await db.transaction(async (tx) => {
    if (!progress) {
      await tx.query({ text: 'delete from run_steps where project_id = $1 and run_id = $2', values: ids });
    }
    await tx.query({
      text: `delete from messages where project_id = $1 and run_id = $2 and role = 'assistant'`,
      values: ids,
    });
    await tx.query({ text: 'delete from run_events where project_id = $1 and run_id = $2 and seq > 1', values: ids });
    if (reserves) {
      await tx.query({
        text: `
          with held as (update budget_periods set reserved_micros = 500 where project_id = $1 returning *)
          insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
          select project_id, $2, budget_id, period_key, 500, now() + interval '30 minutes' from held`,
        values: ids,
      });
    }
    await tx.query({
      text: `
        update runs set status = 'in_progress', attempt = $3::int, replica_id = $4, output = null, stop_reason = null,
          interrupted_by = $5::text[], progress_mark = 0, trial_attempt = case when $6::boolean then $3::int end
        where project_id = $1 and id = $2`,
      values: [...ids, interruptedBy.length + 1, replicaId, interruptedBy, alone],
    });
  });
  await db.notify('run_orphans', '');
  return { smith, runId: run.id };
}

async function interruptedBy(runId: string): Promise<string[] | null> {
  const { rows } = await platform.db.query<{ interrupted_by: string[] | null }>({
    text: 'select interrupted_by from runs where id = $1',
    values: [runId],
  });
  return rows[0]?.interrupted_by ?? null;
}

async function withReplicas(
  ids: readonly string[],
  state: { readonly leaving?: boolean; readonly resting?: boolean },
  work: () => Promise<void>,
): Promise<void> {
  const { leaving = false, resting = false } = state;
  const { db } = platform;
  await db.query({
    text: `insert into replicas (id, heartbeat_at, leaving, resting)
           select id, now() - interval '10 seconds', $2, $3 from unnest($1::text[]) id`,
    values: [ids, leaving, resting],
  });
  try {
    await work();
  } finally {
    await db.query({ text: 'delete from replicas where id = any ($1)', values: [ids] });
  }
}

test('a turn that was alone when its second replica ended is set aside, and its smith is free again', async () => {
  const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'], alone: true });
  const run = await smith.settled(runId);
  const message =
    'The turn was interrupted twice while it was executed and made no progress; the server may have ended because of it.';
  assert.deepEqual([run.status, run.stop_reason, run.error], ['failed', 'error', { code: 'run_failed', message }]);
  assert.deepEqual(await interruptedBy(runId), ['rep_first', 'rep_dead']);
  const frames = await collectFrames(await smith.events(runId));
  assert.deepEqual(
    frames.map(({ event }) => event),
    ['run.started', 'run.failed'],
  );
  const events = await readEvents(smith.project, 'run.failed');
  assert.deepEqual(
    events.map(({ data }) => [data.run_id, data.error]),
    [[runId, { code: 'run_failed', message }]],
  );
  assert.equal((await smith.ask('Write 3 words')).body.status, 'completed');
});

test('a turn that is set aside gives back what it had reserved of budgets', async () => {
  const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'], alone: true, reserves: true });
  assert.equal((await smith.settled(runId)).status, 'failed');
  const { rows } = await platform.db.query({
    text: `
      select p.reserved_micros, (select count(*)::int from budget_reservations r where r.project_id = p.project_id) as held
      from budget_periods p where p.project_id = $1`,
    values: [smith.project.projectId],
  });
  assert.deepEqual(rows, [{ reserved_micros: 0, held: 0 }]);
});

test('a turn goes on that other suspects were beside when its second replica ended', async () => {
  const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'] });
  assert.equal((await smith.settled(runId)).status, 'completed');
  assert.deepEqual(await interruptedBy(runId), ['rep_first', 'rep_dead']);
});

test('a turn that has completed a step since it was taken over begins to be counted anew', async () => {
  const four = ['rep_1', 'rep_2', 'rep_3', 'rep_4'];
  const { smith, runId } = await abandonRun({ interruptedBy: four, alone: true, progress: true });
  assert.equal((await smith.settled(runId)).status, 'completed');
  assert.deepEqual(await interruptedBy(runId), ['rep_dead']);
});

test('a turn that was interrupted twice while other replicas end, too, is not blamed but waits for calm', async () => {
  const ends = ['rep_ending', 'rep_last'];
  await withReplicas(ends, {}, async () => {
    const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'], alone: true, replicaId: 'rep_last' });
    // Suspects are taken over one after the other: this one had its chance before the next was through.
    const { smith: other, runId: otherRun } = await abandonRun({});
    assert.equal((await other.settled(otherRun)).status, 'completed');
    assert.deepEqual(await interruptedBy(runId), ['rep_first'], 'not taken over');
    await platform.db.query({
      text: `update replicas set heartbeat_at = heartbeat_at - interval '1 minute' where id = any ($1)`,
      values: [ends],
    });
    assert.equal((await smith.settled(runId)).status, 'completed');
    assert.deepEqual(await interruptedBy(runId), ['rep_first', 'rep_last']);
  });
});

test('a turn that waits for calm is cancelled all the same, and does not wait for ever', async () => {
  await withReplicas(['rep_ending'], {}, async () => {
    const cancelled = await abandonRun({ interruptedBy: ['rep_first'] });
    await cancelled.smith.cancel(cancelled.runId);
    assert.equal((await cancelled.smith.settled(cancelled.runId)).status, 'cancelled');
    const old = await abandonRun({ interruptedBy: ['rep_first'] });
    await platform.db.query({
      text: `update runs set updated_at = now() - interval '15 minutes' where id = $1`,
      values: [old.runId],
    });
    assert.equal((await old.smith.settled(old.runId)).status, 'completed');
  });
});

test('a turn whose replica was stopping in order is not counted', async () => {
  await withReplicas(['rep_stopping'], { leaving: true }, async () => {
    const { smith, runId } = await abandonRun({
      interruptedBy: ['rep_first'],
      alone: true,
      replicaId: 'rep_stopping',
    });
    assert.equal((await smith.settled(runId)).status, 'completed');
    assert.deepEqual(await interruptedBy(runId), ['rep_first']);
  });
});

test('a turn that a resting replica left behind is not counted', async () => {
  await withReplicas(['rep_resting'], { resting: true }, async () => {
    const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'], alone: true, replicaId: 'rep_resting' });
    assert.equal((await smith.settled(runId)).status, 'completed');
    assert.deepEqual(await interruptedBy(runId), ['rep_first']);
  });
});

test('a replica that was killed while it rested is no sign that something else than the turn ends replicas', async () => {
  await withReplicas(['rep_resting'], { resting: true }, async () => {
    const { smith, runId } = await abandonRun({ interruptedBy: ['rep_first'], alone: true });
    const run = await smith.settled(runId);
    assert.deepEqual([run.status, run.error?.code], ['failed', 'run_failed']);
  });
});

test('a turn that was interrupted three times without progress is given up, whoever was beside it', async () => {
  const { smith, runId } = await abandonRun({ interruptedBy: ['rep_1', 'rep_2'] });
  const run = await smith.settled(runId);
  assert.deepEqual([run.status, run.error.code], ['failed', 'resume_failed']);
});

test('many turns of one replica all go on', async () => {
  const runs: Awaited<ReturnType<typeof abandonRun>>[] = [];
  for (let made = 0; made < 20; made += 1) runs.push(await abandonRun({}));
  for (const { smith, runId } of runs) {
    const run = await smith.settled(runId);
    assert.deepEqual([run.status, run.output.content.split(' ').length], ['completed', 5]);
    const frames = await collectFrames(await smith.events(runId));
    assert.equal(frames.filter(isType('run.restarted')).length, 1);
    assert.equal(assemble(frames).text, run.output.content);
  }
});
