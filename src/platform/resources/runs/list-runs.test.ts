import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishAgent } from '../../../../test/support/agents.ts';
import { type Client, startPlatform } from '../../../../test/support/platform.ts';
import { clientTool, makeSmith, smithOf, type TestSmith } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());

async function idsOf(client: Client, path: string): Promise<string[]> {
  const { status, body, text } = await client.get(path);
  assert.equal(status, 200, text);
  return body.data.map((run: { id: string }) => run.id);
}

async function askMany(smith: TestSmith, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await smith.ask(`Hello ${n}`)).body.id);
  return ids;
}

test('a smith’s runs are listed newest first, as they are got, page by page', async () => {
  const smith = await makeSmith(platform);
  const neighbour = await makeSmith(platform, {}, smith.project);
  const ids = (await askMany(smith, 5)).reverse();
  await askMany(neighbour, 2);
  assert.deepEqual(await idsOf(smith.project, smith.runs), ids);
  const first = (await smith.project.get(`${smith.runs}?limit=2`)).body;
  assert.deepEqual([first.data.length, first.has_more], [2, true]);
  assert.deepEqual(first.data[0], await smith.get(ids[0] ?? ''));
  const second = (await smith.project.get(`${smith.runs}?limit=3&cursor=${first.next_cursor}`)).body;
  assert.deepEqual([second.data.length, second.has_more, second.next_cursor], [3, false, null]);
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }: { id: string }) => id),
    ids,
  );
});

test('the project’s runs are narrowed by smith, agent, status, external id and time', async () => {
  const project = await platform.createProject();
  const agentId = await publishAgent(project, { model: 'builtin/demo' });
  const own = await makeSmith(platform, { external_id: 'acme_1' }, project);
  const other = await makeSmith(platform, { external_id: 'acmeX1' }, project);
  const created = await project.post('/v1/smiths', { agent_id: agentId, external_id: 'zeta' });
  const served = smithOf(project, created.body.id);
  const [done] = await askMany(own, 1);
  const [late] = await askMany(other, 1);
  const [agents] = await askMany(served, 1);
  const { body: failed } = await own.ask('Fail with 400');
  const { body: paused } = await own.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const list = (query: string) => idsOf(project, `/v1/runs?${query}`);
  assert.deepEqual(await list(''), [paused.id, failed.id, agents, late, done]);
  assert.deepEqual(await list(`smith_id=${other.id}`), [late]);
  assert.deepEqual(await list(`agent_id=${agentId}`), [agents]);
  assert.deepEqual(await list('status=failed'), [failed.id]);
  assert.deepEqual(await list('status=paused'), [paused.id]);
  assert.deepEqual(await list(`status=completed&smith_id=${own.id}`), [done]);
  // An underscore is no wildcard.
  assert.deepEqual(await list('external_id_prefix=acme_'), [paused.id, failed.id, done]);
  assert.deepEqual(await list('external_id_prefix=acme'), [paused.id, failed.id, late, done]);
  assert.deepEqual(await list('external_id_prefix=%25'), []);
  // The id is older than the row by what the way to the store took.
  await platform.db.query({
    text: `update runs set created_at = created_at + interval '40 milliseconds' where project_id = $1 and id >= $2`,
    values: [project.projectId, failed.id],
  });
  const from = (await own.get(failed.id)).created_at;
  assert.deepEqual(await list(`since=${encodeURIComponent(from)}`), [paused.id, failed.id]);
  assert.deepEqual(await list(`since=${new Date(Date.now() + 60_000).toISOString()}`), []);
  assert.deepEqual(await list('smith_id=smt_00000000000000000000000000'), []);
  assert.deepEqual(await list('limit=1'), [paused.id]);
  for (const [query, code] of [
    ['status=done', 'invalid_request'],
    ['since=yesterday', 'invalid_request'],
    ['limit=0', 'invalid_limit'],
    ['cursor=x', 'invalid_cursor'],
  ]) {
    const refused = await project.get(`/v1/runs?${query}`);
    assert.deepEqual([refused.status, refused.body.error.code], [422, code], query);
  }
});

test('a smith token sees the runs of its smith', async () => {
  const smith = await makeSmith(platform);
  const neighbour = await makeSmith(platform, {}, smith.project);
  const [id] = await askMany(smith, 1);
  await askMany(neighbour, 1);
  const client = smith.project.as(await smith.project.smithToken(smith.id, ['runs:read']));
  assert.deepEqual(await idsOf(client, '/v1/runs'), [id]);
  assert.deepEqual(await idsOf(client, `/v1/runs?smith_id=${smith.id}`), [id]);
  const refused = await client.get(`/v1/runs?smith_id=${neighbour.id}`);
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'smith_mismatch']);
});

test('an archived smith’s runs can still be read; those of one that never was are not found', async () => {
  const smith = await makeSmith(platform);
  const silent = await makeSmith(platform, {}, smith.project);
  const [id] = await askMany(smith, 1);
  for (const each of [smith, silent]) await smith.project.delete(`/v1/smiths/${each.id}`);
  assert.deepEqual(await idsOf(smith.project, smith.runs), [id]);
  assert.deepEqual(await idsOf(smith.project, silent.runs), []);
  assert.equal((await smith.get(id ?? '')).status, 'completed');
  const missing = await smith.project.get('/v1/smiths/smt_00000000000000000000000000/runs');
  assert.deepEqual([missing.status, missing.body.error.code], [404, 'not_found']);
  const stranger = await platform.createProject();
  assert.equal((await stranger.get(smith.runs)).status, 404);
});
