/** Every list of the OpenAI dialect pages alike: its envelope, limits, both orders, forwards and backwards. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startPlatform } from '../support/platform.ts';
import { assertRefusal } from './assert-refusal.ts';
import { createWorld, OPENAI_DIALECT, pathIn, uploadFile } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const { tenant } = world;
const storePath = `/v1/vector_stores/${world.vectorStoreId}`;
let batchId: string | undefined;

const ROWS = 5;

/** Adds as many rows to the list as a walk needs. The path is the list's, where that is not the world's own. */
const addRows: Readonly<Record<string, () => Promise<string | undefined>>> = {
  'files.list': async () => {
    for (let made = 0; made < ROWS; made += 1) await uploadFile(tenant);
    return undefined;
  },
  'vector_stores.list': async () => {
    for (let made = 0; made < ROWS; made += 1) await tenant.post('/v1/vector_stores', {});
    return undefined;
  },
  'vector_stores.files.list': async () => {
    await addBatch();
    return undefined;
  },
  'vector_stores.file_batches.files.list': async () => `${storePath}/file_batches/${await addBatch()}/files`,
};

const lists = platform.platform.operations
  .filter(({ id, path }) => id.endsWith('.list') && OPENAI_DIALECT.test(path) && id in addRows)
  .map(({ id, path }) => ({ id, path: pathIn(path, world) }));

describe('every list has the envelope', () => {
  for (const { id, path } of lists) {
    test(id, async () => {
      const { status, body, text } = await tenant.get(path);
      assert.equal(status, 200, text);
      assert.deepEqual(Object.keys(body).sort(), ['data', 'first_id', 'has_more', 'last_id', 'object']);
      assert.deepEqual(
        [body.object, body.first_id, body.last_id],
        ['list', body.data[0]?.id ?? null, body.data.at(-1)?.id ?? null],
      );
    });
  }
});

describe('a limit, an order or a place that is out of range is refused, on every list', () => {
  for (const { id, path } of lists) {
    test(id, async () => {
      for (const limit of ['0', '-1', '101', '1.5', 'ten', '']) {
        assertRefusal(await tenant.get(`${path}?limit=${limit}`), 422, 'invalid_limit', 'limit');
      }
      assertRefusal(await tenant.get(`${path}?order=newest`), 422, 'invalid_request', 'order');
      assertRefusal(await tenant.get(`${path}?after=a&before=b`), 422, 'invalid_cursor', 'before');
      assertRefusal(await tenant.get(`${path}?after=`), 422, 'invalid_cursor', 'after');
    });
  }
});

describe('a walk meets each row once, in either order and either direction', () => {
  for (const { id, path: usual } of lists) {
    test(id, async () => {
      const path = (await addRows[id]?.()) ?? usual;
      const newest = idsOf((await tenant.get(`${path}?limit=100`)).body);
      assert.ok(newest.length >= ROWS);
      assert.deepEqual(await walk(path, 'after', 'desc'), newest);
      assert.deepEqual(await walk(path, 'after', 'asc'), newest.toReversed());
      const last = newest.at(-1) ?? '';
      assert.deepEqual(await walk(path, 'before', 'desc', last), newest.slice(0, -1));
    });
  }
});

/** All ids of the list, in its order, by pages of two; backwards from `start`. */
async function walk(path: string, member: 'after' | 'before', order: string, start?: string): Promise<string[]> {
  const seen: string[] = [];
  for (let place = start, more = true; more; ) {
    const from = place === undefined ? '' : `&${member}=${place}`;
    const { body } = await tenant.get(`${path}?limit=2&order=${order}${from}`);
    if (member === 'after') seen.push(...idsOf(body));
    else seen.unshift(...idsOf(body));
    place = member === 'after' ? body.last_id : body.first_id;
    more = body.has_more;
  }
  return seen;
}

function idsOf(body: { data: { id: string }[] }): string[] {
  return body.data.map(({ id }) => id);
}

/** A batch of as many files, made once. */
async function addBatch(): Promise<string> {
  if (batchId !== undefined) return batchId;
  const file_ids: string[] = [];
  for (let made = 0; made < ROWS; made += 1) file_ids.push(await uploadFile(tenant));
  const batch = await tenant.post(`${storePath}/file_batches`, { file_ids });
  assert.equal(batch.status, 200, batch.text);
  batchId = batch.body.id;
  return batch.body.id;
}
