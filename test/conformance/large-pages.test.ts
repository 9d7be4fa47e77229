/** A page of large rows ends early, says that there is more, and goes on where it ended. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { question } from '../support/turns.ts';

const MAX_PAGE_BYTES = 8 * 1024 * 1024;

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

/** Every id of the list, page by page, each no larger than a page and its last row. */
async function readAll(p: TestProject, path: string, rowBytes: number): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const joint = path.includes('?') ? '&' : '?';
    const answer = await p.get(`${path}${joint}limit=100${cursor === null ? '' : `&cursor=${cursor}`}`);
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.ok(answer.text.length < MAX_PAGE_BYTES + rowBytes, `${answer.text.length} bytes`);
    ids.push(...answer.body.data.map(({ id }: { id: string }) => id));
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
