/** A page of large rows ends early, says that there is more, and goes on where it ended. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { appendEvent } from '../../src/platform/feed/append-event.ts';
import { tenantDb } from '../../src/platform/store/tenant-db.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { question } from '../support/turns.ts';

const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** To compress such pages takes as long as all the rest. */
const PLAIN = { 'accept-encoding': 'identity' };

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

/** Every id (or version) of the list, page by page, each no larger than a page and its last row. */
async function readAll(
  p: TestProject,
  path: string,
  rowBytes: number,
  key: 'id' | 'version' = 'id',
): Promise<{ ids: (string | number)[]; pages: number }> {
  const ids: (string | number)[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const joint = path.includes('?') ? '&' : '?';
    const answer = await p.get(`${path}${joint}limit=100${cursor === null ? '' : `&cursor=${cursor}`}`, PLAIN);
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.ok(answer.text.length < MAX_PAGE_BYTES + rowBytes, `${answer.text.length} bytes`);
    ids.push(...answer.body.data.map((row: Record<'id' | 'version', string | number>) => row[key]));
    cursor = answer.body.next_cursor;
    assert.equal(answer.body.has_more, cursor !== null);
    if (cursor === null) return { ids, pages };
  }
}

test('runs with large inputs', async () => {
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

test('smiths that an agent gives large instructions', async () => {
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

const LARGE = 3_000_000;
/** Rows of this size: three to a page. */
const ROWS = 7;
const PAGES = 3;
const numbers = Array.from({ length: ROWS }, (_, index) => index + 1);

/** SQL of a text so large. */
const TEXT = `repeat('x', ${LARGE})`;

test('agents with large drafts', async () => {
  const p = await platform.createProject();
  const made: string[] = [];
  for (const n of numbers) made.push((await p.post('/v1/agents', { name: `Agent ${n}` })).body.id);
  await platform.db.query({
    text: `update agents set draft = jsonb_set(draft, '{instructions}', to_jsonb(${TEXT})) where project_id = $1`,
    values: [p.projectId],
  });
  assert.deepEqual(await readAll(p, '/v1/agents', LARGE + 10_000), { ids: made.toReversed(), pages: PAGES });
});

test('versions of an agent', async () => {
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

test('revisions of a smith', async () => {
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

test('events', async () => {
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

test('approvals of calls with large arguments', async () => {
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

describe('items of a conversation', () => {
  async function readItems(p: TestProject, conversation: string, order: 'asc' | 'desc') {
    const ids: string[] = [];
    let place: string | undefined;
    for (let pages = 1; ; pages += 1) {
      const from = place === undefined ? '' : `&after=${place}`;
      const answer = await p.get(`/v1/conversations/${conversation}/items?limit=100&order=${order}${from}`, PLAIN);
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
      assert.ok(answer.text.length < MAX_PAGE_BYTES + LARGE + 10_000, `${answer.text.length} bytes`);
      ids.push(...answer.body.data.map(({ id }: { id: string }) => id));
      if (answer.body.has_more === false) return { ids, pages };
      place = answer.body.last_id;
    }
  }

  test('are read to their end in both directions', async () => {
    const p = await platform.createProject();
    const smith = await p.createSmith();
    const conversation = (await p.post('/v1/conversations', {}, { 'ic-smith-id': smith })).body.id;
    const items = numbers.map((n) => ({ role: 'user', content: `Message ${n}` }));
    const added = await p.post(`/v1/conversations/${conversation}/items`, { items });
    assert.equal(added.status, 200, added.text);
    const ids: string[] = added.body.data.map(({ id }: { id: string }) => id);
    await platform.db.query({
      text: `update messages set content = jsonb_build_array(jsonb_build_object('type', 'text', 'text', ${TEXT}))
             where project_id = $1`,
      values: [p.projectId],
    });
    assert.deepEqual(await readItems(p, conversation, 'asc'), { ids, pages: PAGES });
    assert.deepEqual(await readItems(p, conversation, 'desc'), { ids: ids.toReversed(), pages: PAGES });
    // All before the last one, the end first.
    const last = ids.at(-1);
    const end = await p.get(`/v1/conversations/${conversation}/items?limit=100&order=asc&before=${last}`);
    assert.deepEqual([end.body.last_id, end.body.has_more], [ids.at(-2), true]);
  });
});
