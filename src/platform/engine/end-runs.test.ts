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
