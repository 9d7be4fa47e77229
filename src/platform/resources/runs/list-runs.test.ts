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
  assert.ok((await list(`since=${from.slice(0, 10)}`)).includes(failed.id));
  assert.deepEqual(await list(`since=${Math.floor(Date.now() / 1_000) + 60}`), []);
  assert.deepEqual(await list('smith_id=smt_00000000000000000000000000'), []);
  assert.deepEqual(await list('limit=1'), [paused.id]);
  for (const [query, code] of [
    ['status=done', 'invalid_request'],
    ['since=yesterday', 'invalid_request'],
    ['since=2026-13-01', 'invalid_request'],
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

test('runs are found by a prefix that few smiths have, or many, however old their runs are', async () => {
  const { projectId, ...project } = await platform.createProject();
  // 10 smiths have rare-, 600 old-, 600 new-; each has runs, those of old- before all others. Some are archived.
  await platform.db.query({
    text: `insert into smiths (project_id, id, external_id, archived_at)
      select $1, 'smt_' || lpad(n::text, 26, '0'),
        case when n <= 600 then 'old-' when n <= 1200 then 'new-' else 'rare-' end || n,
        case when n % 7 = 0 then now() end
      from generate_series(1, 1210) n`,
    values: [projectId],
  });
  await platform.db.query({
    text: `insert into runs (project_id, id, smith_id, thread_id, turn, status, channel, input, config, actor)
      select $1, 'run_' || lpad(n::text, 26, '0'),
        'smt_' || lpad((case when n <= 1200 then 1 + n % 600 when n % 100 = 0 then 1201 + n / 100 % 10 else 601 + n % 600 end)::text, 26, '0'),
        'thr_' || lpad(n::text, 26, '0'), 1, case when n % 9 = 0 then 'failed' else 'completed' end, 'api', '[]', '{}', null
      from generate_series(1, 6000) n`,
    values: [projectId],
  });
  for (const prefix of ['rare-', 'old-', 'new-', 'nobody-', 'rare-1205', 'o']) {
    for (const status of [undefined, 'failed']) {
      const { rows } = await platform.db.query<{ id: string }>({
        text: `select id from runs where project_id = $1 and status = coalesce($2, status)
          and exists (select 1 from smiths where project_id = $1 and id = smith_id and starts_with(external_id, $3))
          order by id desc limit 250`,
        values: [projectId, status ?? null, prefix],
      });
      const query = `/v1/runs?limit=50&external_id_prefix=${prefix}${status === undefined ? '' : `&status=${status}`}`;
      const ids: string[] = [];
      let cursor = '';
      while (ids.length < 250) {
        const { body, text } = await project.get(query + cursor);
        assert.ok(body.data !== undefined, text);
        ids.push(...body.data.map((run: { id: string }) => run.id));
        if (!body.has_more) break;
        cursor = `&cursor=${body.next_cursor}`;
      }
      assert.deepEqual(
        ids,
        rows.map(({ id }) => id),
        query,
      );
    }
  }
});
