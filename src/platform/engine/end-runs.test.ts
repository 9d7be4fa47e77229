import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../test/support/platform.ts';
import { clientTool, makeSmith } from '../../../test/support/turns.ts';
import { sweepEndedRuns } from './end-runs.ts';

const platform = await startPlatform();
after(() => platform.close());

const TOOLS = { tools: [clientTool('look_up')] };

async function statusOf(runId: string): Promise<string | undefined> {
  const { rows } = await platform.db.query<{ status: string }>({
    text: 'select status from runs where id = $1',
    values: [runId],
  });
  return rows[0]?.status;
}

test('the sweep ends what began in the moment in which its smith or project ended, and nothing else', async () => {
  const smiths = [await makeSmith(platform), await makeSmith(platform), await makeSmith(platform)];
  const [archived, deleted, live] = smiths;
  assert.ok(archived !== undefined && deleted !== undefined && live !== undefined);
  const paused = await Promise.all(smiths.map((smith) => smith.ask('Call the tool look_up with {}', TOOLS)));
  const ids = paused.map(({ body }) => body.id as string);
  // As if the run had come just behind the look of the job.
  await platform.db.query({ text: 'update smiths set archived_at = now() where id = $1', values: [archived.id] });
  await platform.db.query({
    text: 'update projects set archived_at = now() where id = $1',
    values: [deleted.project.projectId],
  });
  await sweepEndedRuns(platform.platform.engine, new AbortController().signal);
  assert.deepEqual(await Promise.all(ids.map(statusOf)), ['cancelled', 'cancelled', 'paused']);
});

test('a run that cannot be cancelled is in the way of no other', async () => {
  const smiths = [await makeSmith(platform), await makeSmith(platform)];
  const [first, second] = smiths;
  assert.ok(first !== undefined && second !== undefined);
  const ask = async (smith: typeof first) =>
    (await smith.ask('Call the tool look_up with {}', TOOLS)).body.id as string;
  const stuck = await ask(first);
  const behindIt = await ask(first);
  const others = await ask(second);
  const query = (text: string) => platform.db.query({ text, values: [] });
  await query(`create function refuse_end() returns trigger language plpgsql as $$ begin raise 'it is stuck'; end $$`);
  await query(
    `create trigger refuse_end before update on runs for each row when (new.id = '${stuck}') execute function refuse_end()`,
  );
  try {
    await query(`update projects set archived_at = now() where id = '${first.project.projectId}'`);
    await query(`update smiths set archived_at = now() where id = '${second.id}'`);
    await assert.rejects(sweepEndedRuns(platform.platform.engine, new AbortController().signal), /it is stuck/);
    assert.deepEqual(await Promise.all([stuck, behindIt, others].map(statusOf)), ['paused', 'cancelled', 'cancelled']);
  } finally {
    await query('drop trigger refuse_end on runs');
    await query('drop function refuse_end');
  }
});
