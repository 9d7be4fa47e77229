import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import { makeSmith, type TestSmith, withinMs } from '../../../../test/support/turns.ts';

const { db, ...platform } = await startPlatform();
after(() => platform.close());

/** A run that another replica executes; `onCancel` is what that one does when it is asked to stop it. */
async function makeForeignRun(
  onCancel: (runId: string) => Promise<void>,
): Promise<{ smith: TestSmith; runId: string }> {
  const smith = await makeSmith({ db, ...platform });
  const { body: run } = await smith.ask('Hello');
  await db.query({
    text: `
      insert into replicas (id, heartbeat_at) values ('rep_elsewhere', now() + interval '1 hour')
      on conflict (id) do nothing`,
    values: [],
  });
  await db.query({
    text: `
      update runs set status = 'in_progress', replica_id = 'rep_elsewhere', output = null
      where project_id = $1 and id = $2`,
    values: [smith.project.projectId, run.id],
  });
  const stop = await db.listen('run_cancel', (asked) => {
    if (asked === run.id) void onCancel(run.id);
  });
  after(stop);
  return { smith, runId: run.id };
}

test('the replica that executes the run is given its time, whatever else the run has to tell meanwhile', async () => {
  // On a machine that is busy elsewhere the other replica may take longer than its time: then there is nothing to see.
  await withinMs(150, async () => {
    let [askedMs, endedMs] = [0, Number.POSITIVE_INFINITY];
    const { smith, runId } = await makeForeignRun(async (id) => {
      // Its last words, as the timeline's batch brings them.
      await db.notify('run_changes', id);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const output = { content: 'so far', content_type: 'text/plain', tool_calls: [], suggested_replies: [] };
      await db.query({
        text: `update runs set status = 'cancelled', output = $2 where id = $1 and status = 'in_progress'`,
        values: [id, JSON.stringify(output)],
      });
      endedMs = performance.now();
      await db.notify('run_changes', id);
    });
    askedMs = performance.now();
    assert.equal((await smith.cancel(runId)).status, 200);
    const run = await smith.get(runId);
    const tookMs = endedMs - askedMs;
    if (tookMs < 150) assert.deepEqual([run.status, run.output?.content], ['cancelled', 'so far']);
    return tookMs;
  });
});

test('a replica that does not answer is overruled within 200 ms', async () => {
  await withinMs(200, async () => {
    const { smith, runId } = await makeForeignRun(async () => {});
    const startedMs = performance.now();
    assert.equal((await smith.cancel(runId)).status, 200);
    const tookMs = performance.now() - startedMs;
    assert.equal((await smith.get(runId)).status, 'cancelled');
    assert.equal((await smith.ask('Hello')).body.status, 'completed', 'the smith is free');
    return tookMs;
  });
});
