import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { assemble, isType, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';
import { seqAfterRestart } from './resume-turn.ts';

const platform = await startPlatform();
after(() => platform.close());

/** A run whose replica died before it had stored anything but the start. */
async function abandonRun({ attempt, pauses }: { attempt: number; pauses: number }): Promise<{
  smith: TestSmith;
  runId: string;
}> {
  const { db } = platform;
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Write 5 words');
  const ids = [smith.project.projectId, run.id];
  await db.transaction(async (tx) => {
    await tx.query({ text: 'delete from run_steps where project_id = $1 and run_id = $2', values: ids });
    await tx.query({
      text: `delete from messages where project_id = $1 and run_id = $2 and role = 'assistant'`,
      values: ids,
    });
    await tx.query({ text: 'delete from run_events where project_id = $1 and run_id = $2 and seq > 1', values: ids });
    await tx.query({
      text: `
        insert into run_events (project_id, run_id, seq, type, data)
        select $1, $2, 1 + n, 'run.paused', '{}' from generate_series(1, $3::int) n`,
      values: [...ids, pauses],
    });
    await tx.query({
      text: `
        update runs set status = 'in_progress', attempt = $3, replica_id = 'rep_dead', output = null, stop_reason = null,
          input_tokens = 0, output_tokens = 0
        where project_id = $1 and id = $2`,
      values: [...ids, attempt],
    });
  });
  await db.notify('run_orphans', '');
  return { smith, runId: run.id };
}

test('a reader who saw frames of an attempt that died before it stored any misses none of the next attempt', async () => {
  const { smith, runId } = await abandonRun({ attempt: 2, pauses: 0 });
  const seen = seqAfterRestart(1, 2) + 40;
  const frames = await collectFrames(await smith.events(runId, seen));
  assert.ok(frames.some(isType('run.restarted')));
  assert.equal(assemble(frames).text, (await smith.settled(runId)).output.content);
});

test('a turn that went on after many pauses is not given up when its replica dies once', async () => {
  const { smith, runId } = await abandonRun({ attempt: 8, pauses: 7 });
  const run = await smith.settled(runId);
  assert.deepEqual([run.status, run.output.content.split(' ').length], ['completed', 5]);
});
