/** Every list of the OpenAI dialect pages alike: limits, both orders, objects as places, and each object exactly once. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Answer, startPlatform } from '../support/platform.ts';
import { bundleForm, skillText, uploadSkill } from '../support/skills.ts';
import { assertRefusal } from './assert-refusal.ts';
import { addItem, createWorld, foreignWorld, missingId, pathIn, startConversation, uploadFile } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const { tenant } = world;
const abroad = await foreignWorld(platform);

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** Adds one object to the list and answers with its id. */
const addObject: Readonly<Record<string, () => Promise<string>>> = {
  'files.list': () => uploadFile(tenant),
  'conversations.list': async () => (await startConversation(tenant, world.smithUser)).conversationId,
  'conversations.items.list': () => addItem(tenant, world.conversationId),
  'skills.list': () => uploadSkill(tenant),
  'skills.versions.list': async () => {
    const { name } = (await tenant.get(`/v1/skills/${world.skillId}`)).body;
    const form = bundleForm({ 'SKILL.md': skillText(name) });
    return (await tenant.post(`/v1/skills/${world.skillId}/versions`, form)).body.id;
  },
  'vector_stores.list': async () => (await tenant.post('/v1/vector_stores', {})).body.id,
  'vector_stores.files.list': async () => {
    const file_id = await uploadFile(tenant);
    return (await tenant.post(`/v1/vector_stores/${world.vectorStoreId}/files`, { file_id })).body.id;
  },
};

/** Lists of what never changes or never grows: their paging is tested beside them. */
const FIXED = ['responses.input_items.list', 'vector_stores.file_batches.files.list'];

const lists = platform.platform.operations
  .filter(({ query }) => Object.hasOwn((query as { properties?: object } | undefined)?.properties ?? {}, 'after'))
  .filter(({ method, id }) => method === 'GET' && id.endsWith('.list') && !FIXED.includes(id))
  .map(({ id, path }) => ({ id, path: pathIn(path, world) }));

for (const { id, path } of lists) {
  describe(id, () => {
    test('has the envelope, and takes limits in range only', async () => {
      await addTo(id);
      const answer = await tenant.get(path);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'first_id', 'has_more', 'last_id', 'object']);
      assertPage(answer, DEFAULT_LIMIT);
      for (const limit of ['0', '-1', String(MAX_LIMIT + 1), '1.5', 'ten', '', '9'.repeat(40)]) {
        assertRefusal(await tenant.get(`${path}?limit=${limit}`), 422, 'invalid_limit', 'limit');
      }
      for (const limit of [1, MAX_LIMIT]) assertPage(await tenant.get(`${path}?limit=${limit}`), limit);
    });

    test('takes one place, `after` or `before`, and an order that there is', async () => {
      assertRefusal(await tenant.get(`${path}?after=a_1&before=a_2`), 422, 'invalid_cursor', 'before');
      assertRefusal(await tenant.get(`${path}?after=`), 422, 'invalid_cursor', 'after');
      assertRefusal(await tenant.get(`${path}?after=${'a'.repeat(600)}`), 422, 'invalid_cursor', 'after');
      assertRefusal(await tenant.get(`${path}?order=upwards`), 422, 'invalid_request', 'order');
    });

    test('no place is what the list does not show: foreign, of another kind, or missing, alike', async () => {
      const own = await addTo(id);
      const foreign = idsOf(await abroad.tenant.get(pathIn(pathOf(id), abroad)))[0] ?? '';
      const missing = missingId(own.slice(0, own.indexOf('_')));
      for (const member of ['after', 'before']) {
        const texts: string[] = [];
        for (const place of [foreign, missing, world.smithId, 'x']) {
          const answer = await tenant.get(`${path}?${member}=${place}`);
          assertRefusal(answer, 422, 'invalid_cursor', member);
          texts.push(answer.text);
        }
        assert.equal(new Set(texts).size, 1, texts.join('\n'));
        assert.equal((await tenant.get(`${path}?${member}=${own}`)).status, 200);
      }
    });

    test('a walk meets each object once, in either order, while others are added', async () => {
      const before: string[] = [];
      for (let made = 0; made < 5; made += 1) before.push(await addTo(id));
      for (const order of ['desc', 'asc'] as const) {
        const met = await walk(path, order, () => addTo(id));
        assert.equal(new Set(met).size, met.length, 'an object was met twice');
        const expected = order === 'asc' ? before : [...before].reverse();
        assert.deepEqual(
          met.filter((one) => before.includes(one)),
          expected,
        );
      }
    });

    test('a page before an object ends next to it', async () => {
      for (let made = 0; made < 4; made += 1) await addTo(id);
      const first = await tenant.get(`${path}?limit=4`);
      const ids = idsOf(first);
      const page = await tenant.get(`${path}?limit=2&before=${ids[3]}`);
      assert.deepEqual(idsOf(page), ids.slice(1, 3));
      assert.equal(page.body.has_more, true);
    });
  });
}

/** Adds a few objects on the way: what a list in ascending order meets at its end. */
async function walk(path: string, order: string, add: () => Promise<unknown>): Promise<string[]> {
  const met: string[] = [];
  let place = '';
  for (let pages = 0; pages < 1_000; pages += 1) {
    const answer = await tenant.get(`${path}?limit=2&order=${order}${place}`);
    assertPage(answer, 2);
    met.push(...idsOf(answer));
    if (!answer.body.has_more) return met;
    place = `&after=${answer.body.last_id}`;
    if (pages < 3) await add();
  }
  throw new Error('the list never ends');
}

function assertPage({ status, body, text }: Answer, limit: number): void {
  assert.equal(status, 200, text);
  assert.equal(body.object, 'list');
  assert.ok(Array.isArray(body.data) && body.data.length <= limit, text);
  assert.equal(body.first_id, body.data[0]?.id ?? null);
  assert.equal(body.last_id, body.data.at(-1)?.id ?? null);
  if (body.has_more) assert.equal(body.data.length, limit, text);
}

function idsOf({ body }: Answer): string[] {
  return body.data.map((one: { id: string }) => one.id);
}

function pathOf(id: string): string {
  return platform.platform.operations.find((one) => one.id === id)?.path ?? '';
}

function addTo(id: string): Promise<string> {
  const add = addObject[id];
  assert.ok(add, `say in this test how ${id} gets another object`);
  return add();
}
