/** A page of large rows ends early, says that there is more, and goes on where it ended; the soak reads the other lists. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { LARGE, MAX_PAGE_BYTES, numbers, PLAIN, TEXT } from './read-large-pages.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

/** Three to a page: one is left for the next. */
const SOME = numbers.slice(0, 4);

describe('the list of large items of a conversation', () => {
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

  test('is read to its end in both directions', async () => {
    const p = await platform.createProject();
    const smith = await p.createSmith();
    const conversation = (await p.post('/v1/conversations', {}, { 'ic-smith-id': smith })).body.id;
    const items = SOME.map((n) => ({ role: 'user', content: `Message ${n}` }));
    const added = await p.post(`/v1/conversations/${conversation}/items`, { items });
    assert.equal(added.status, 200, added.text);
    const ids: string[] = added.body.data.map(({ id }: { id: string }) => id);
    await platform.db.query({
      text: `update messages set content = jsonb_build_array(jsonb_build_object('type', 'text', 'text', ${TEXT}))
             where project_id = $1`,
      values: [p.projectId],
    });
    assert.deepEqual(await readItems(p, conversation, 'asc'), { ids, pages: 2 });
    assert.deepEqual(await readItems(p, conversation, 'desc'), { ids: ids.toReversed(), pages: 2 });
    // All before the last one, the end first.
    const last = ids.at(-1);
    const end = await p.get(`/v1/conversations/${conversation}/items?limit=100&order=asc&before=${last}`);
    assert.deepEqual([end.body.last_id, end.body.has_more], [ids.at(-2), true]);
  });
});
