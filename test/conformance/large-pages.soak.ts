/** The lists whose pages end early as in large-pages.test.ts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { appendEvent } from '../../src/platform/feed/append-event.ts';
import { tenantDb } from '../../src/platform/store/tenant-db.ts';
import { startPlatform, type TestPlatform } from '../support/platform.ts';
import { question } from '../support/turns.ts';
import { LARGE, numbers, PAGES, ROWS, readAll, TEXT } from './read-large-pages.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

test('the list of agents ends a page early when drafts are large', async () => {
  const p = await platform.createProject();
  const made: string[] = [];
  for (const n of numbers) made.push((await p.post('/v1/agents', { name: `Agent ${n}` })).body.id);
  await platform.db.query({
    text: `update agents set draft = jsonb_set(draft, '{instructions}', to_jsonb(${TEXT})) where project_id = $1`,
    values: [p.projectId],
  });
  assert.deepEqual(await readAll(p, '/v1/agents', LARGE + 10_000), { ids: made.toReversed(), pages: PAGES });
});

test('the lists of runs end a page early when inputs are large', async () => {
  const p = await platform.createProject();
  const smithId = await p.createSmith({ external_id: 'large-1' });
  const made: string[] = [];
  for (let n = 0; n < 7; n += 1) made.push((await p.post(`/v1/smiths/${smithId}/runs`, question('Hi'))).body.id);
  await platform.db.query({
    text: `update runs set input = jsonb_build_array(jsonb_build_object('role', 'user', 'content', repeat('x', 3000000)))
           where project_id = $1`,
    values: [p.projectId],
  });
  for (const path of [`/v1/smiths/${smithId}/runs`, '/v1/runs', '/v1/runs?external_id_prefix=large']) {
    const { ids, pages } = await readAll(p, path, 3_100_000);
    assert.deepEqual([ids, pages], [made.toReversed(), 3], path);
  }
});

test('the lists of smiths end a page early when their agent has large instructions', async () => {
  const p = await platform.createProject();
  const agent = await p.post('/v1/agents', { name: 'Large', instructions: 'x'.repeat(200_000) });
  await p.post(`/v1/agents/${agent.body.id}/versions`, {});
  const made: string[] = [];
  for (let n = 0; n < 30; n += 1) {
    made.push((await p.post('/v1/smiths', { agent_id: agent.body.id, external_id: `large-${n}` })).body.id);
  }
  for (const path of ['/v1/smiths', `/v1/smiths?agent_id=${agent.body.id}`, '/v1/smiths?external_id_prefix=large']) {
    const { ids, pages } = await readAll(p, path, 700_000);
    assert.deepEqual([ids, pages], [made.toReversed(), 3], path);
  }
});

test('the list of versions ends a page early when snapshots are large', async () => {
  const p = await platform.createProject();
  const agent = (await p.post('/v1/agents', { name: 'Large', instructions: 'Be brief.' })).body.id;
  for (const _ of numbers) await p.post(`/v1/agents/${agent}/versions`, {});
  await platform.db.query({
    text: `update agent_versions set snapshot = jsonb_set(snapshot, '{instructions}', to_jsonb(${TEXT})) where project_id = $1`,
    values: [p.projectId],
  });
  const { ids, pages } = await readAll(p, `/v1/agents/${agent}/versions`, LARGE + 10_000, 'version');
  assert.deepEqual([ids, pages], [numbers.toReversed(), PAGES]);
});

test('the list of revisions ends a page early when snapshots are large', async () => {
  const p = await platform.createProject();
  const smith = await p.createSmith();
  for (const n of numbers.slice(1)) await p.patch(`/v1/smiths/${smith}`, { display_name: `Name ${n}` });
  await platform.db.query({
    text: `update smith_revisions set snapshot = jsonb_set(snapshot, '{config,instructions}', to_jsonb(${TEXT})) where project_id = $1`,
    values: [p.projectId],
  });
  const { ids, pages } = await readAll(p, `/v1/smiths/${smith}/revisions`, LARGE + 10_000, 'version');
  assert.deepEqual([ids, pages], [numbers.toReversed(), PAGES]);
});

test('the lists of events end a page early when events are large', async () => {
  const p = await platform.createProject();
  const made: string[] = [];
  const db = tenantDb(platform.db, p.projectId);
  for (const n of numbers) {
    const type = n % 2 === 0 ? 'run.completed' : 'run.failed';
    made.push(await appendEvent(db, { type, actor: null, data: { text: 'x'.repeat(LARGE) } }));
  }
  assert.deepEqual(await readAll(p, '/v1/events?type=run', LARGE + 10_000), { ids: made.toReversed(), pages: PAGES });
  const failed = made.filter((_, index) => index % 2 === 0).toReversed();
  assert.deepEqual(await readAll(p, '/v1/events?type=run.failed', LARGE + 10_000), { ids: failed, pages: 2 });
  const all = await readAll(p, '/v1/events', LARGE + 10_000);
  assert.deepEqual([all.ids.slice(0, ROWS), all.pages], [made.toReversed(), PAGES]);
});

test('the lists of approvals end a page early when arguments are large', async () => {
  const p = await platform.createProject();
  const smith = await p.createSmith();
  const ids = numbers.map((n) => `apr_${n}`);
  await platform.db.query({
    text: `insert into approvals (project_id, id, run_id, smith_id, tool_call_id, tool, args)
           select $1, id, 'run_1', $2, id, 'pay', jsonb_build_object('text', ${TEXT}) from unnest($3::text[]) as given (id)`,
    values: [p.projectId, smith, ids],
  });
  const expected = { ids: ids.toReversed(), pages: PAGES };
  assert.deepEqual(await readAll(p, '/v1/approvals', LARGE + 10_000), expected);
  assert.deepEqual(await readAll(p, '/v1/approvals?status=pending', LARGE + 10_000), expected);
});
