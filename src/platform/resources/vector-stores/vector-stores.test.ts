/** What vector stores are for, from a file to what is found in it; `store-contract.test.ts` has the rest of their contract. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toFile } from 'openai';
import { startLately } from '../../../../test/support/lately.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { BREAD, PLANETS, upload, useVectorStores } from '../../../../test/support/vector-stores.ts';

const isLately = startLately();

const stores = useVectorStores();
const { openStore } = stores;

test('a store keeps every field that it was created with', async () => {
  const project = await stores.platform.createProject();
  const smith_id = await project.createSmith();
  const made = await project.post('/v1/vector_stores', {
    name: 'Docs',
    description: 'All of them',
    metadata: { team: 'a' },
    smith_id,
    expires_after: { anchor: 'last_active_at', days: 7 },
  });
  assert.equal(made.status, 200, made.text);
  const { id, created_at, expires_at, ...rest } = made.body;
  assert.equal(expires_at, created_at + 7 * 86_400);
  assert.match(id, /^vs_/);
  assert.ok(Number.isInteger(created_at) && isLately(created_at * 1_000));
  assert.deepEqual(rest, {
    object: 'vector_store',
    name: 'Docs',
    description: 'All of them',
    usage_bytes: 0,
    status: 'completed',
    file_counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 },
    last_active_at: null,
    expires_after: { anchor: 'last_active_at', days: 7 },
    metadata: { team: 'a' },
    smith_id,
    embedding_model: 'builtin/embed',
  });
  assert.deepEqual((await project.get(`/v1/vector_stores/${id}`)).body, made.body);
  const events = (await project.get('/v1/events?type=vector_store')).body.data;
  assert.deepEqual(
    events.map(({ type, data, smith_id: of }: { type: string; data: object; smith_id: string }) => [type, data, of]),
    [['vector_store.created', { vector_store_id: id }, smith_id]],
  );
});

test('a file that is uploaded and polled is indexed, and its text can be read', async () => {
  const { client, project, id, path } = await openStore();
  const file = await client.vectorStores.files.uploadAndPoll(id, await toFile(Buffer.from(PLANETS), 'planets.txt'));
  assert.deepEqual([file.status, file.last_error, file.vector_store_id], ['completed', null, id]);
  assert.deepEqual(file.chunking_strategy, {
    type: 'static',
    static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 },
  });
  const content = await project.get(`${path}/files/${file.id}/content`);
  assert.deepEqual(content.body, {
    object: 'vector_store.file_content.page',
    data: [{ type: 'text', text: PLANETS }],
    has_more: false,
    next_page: null,
  });
  // The built-in model has 512 dimensions.
  const bytes = Buffer.byteLength(PLANETS) + 2 * 512;
  const store = (await project.get(path)).body;
  assert.deepEqual(
    [file.usage_bytes, store.usage_bytes, store.status, store.file_counts],
    [bytes, bytes, 'completed', { in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 }],
  );
  const events = (await project.get('/v1/events?type=vector_store.file')).body.data;
  assert.deepEqual(events[0].data, { vector_store_id: id, file_id: file.id, usage_bytes: bytes });
});

test('a batch is polled to its end and counts its files; a file that is named twice counts once', async () => {
  const { client, project, id, path } = await openStore();
  const good = await Promise.all([upload(client, PLANETS), upload(client, BREAD)]);
  const bad = await upload(client, '\u0000\u0001\u0002\u0003'.repeat(100), 'blob.bin');
  const batch = await client.vectorStores.fileBatches.createAndPoll(id, {
    file_ids: [...good, bad, ...good],
    attributes: { lang: 'en' },
  });
  assert.deepEqual(
    [batch.object, batch.status, batch.file_counts],
    ['vector_store.files_batch', 'completed', { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 }],
  );
  const of = `${path}/file_batches/${batch.id}/files`;
  const ids = async (query: string) =>
    (await project.get(`${of}?${query}`)).body.data.map((row: { id: string }) => row.id);
  assert.deepEqual(await ids('order=asc'), [...good, bad]);
  assert.deepEqual(await ids('filter=failed'), [bad]);
  assert.deepEqual(await ids(`order=asc&after=${good[0]}&limit=1`), [good[1]]);
  assert.deepEqual(await ids(`order=asc&before=${bad}`), good);
  assert.deepEqual((await project.get(of)).body.data[1].attributes, { lang: 'en' });
  const failed = await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [bad] });
  assert.equal(failed.status, 'failed', 'every file of it failed');
});

test('a deleted store is gone at once for every operation, and then from the database', async () => {
  const { client, project, id, path } = await openStore();
  const files = await Promise.all(Array.from({ length: 5 }, (_, at) => upload(client, `${PLANETS} ${at}`)));
  const batch = await client.vectorStores.fileBatches.create(id, { file_ids: files });
  const gone = await client.vectorStores.delete(id);
  assert.deepEqual(gone, { id, object: 'vector_store.deleted', deleted: true });
  const file = `${path}/files/${files[0]}`;
  for (const at of [path, `${path}/files`, file, `${file}/content`, `${path}/file_batches/${batch.id}`]) {
    assert.equal((await project.get(at)).status, 404, at);
  }
  const posts: [string, unknown][] = [
    [path, { name: 'x' }],
    [file, { attributes: {} }],
    [`${path}/files`, { file_id: files[0] }],
    [`${path}/file_batches`, { file_ids: files }],
    [`${path}/file_batches/${batch.id}/cancel`, undefined],
    [`${path}/search`, { query: 'planet' }],
  ];
  for (const [at, body] of posts) {
    const answer = await project.post(at, body);
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], at);
  }
  assert.equal((await project.delete(path)).status, 404);
  assert.ok(!(await project.get('/v1/vector_stores')).text.includes(id));
  const events = (await project.get('/v1/events?type=vector_store.deleted')).body.data;
  assert.deepEqual(events[0].data, { vector_store_id: id });
  await eventually(async () => {
    for (const table of ['vector_stores', 'vector_store_files', 'vector_store_chunks', 'vector_store_batches']) {
      const { rowCount } = await stores.platform.db.query({
        text: `select from ${table} where project_id = $1`,
        values: [project.projectId],
      });
      if (rowCount > 0) return undefined;
    }
    return true;
  }, 'every row is removed');
  assert.equal((await project.get(`/v1/files/${files[0]}`)).status, 200, 'the files stay');
});

test('lists page both ways, and the client walks through them', async () => {
  const { client, project, id, path } = await openStore({ name: 'first' });
  const stores = [id];
  for (let made = 0; made < 4; made += 1) stores.unshift((await client.vectorStores.create({})).id);
  const walked: string[] = [];
  for await (const store of client.vectorStores.list({ limit: 2 })) walked.push(store.id);
  assert.deepEqual(walked, stores);
  const page = (await project.get(`/v1/vector_stores?limit=2&order=asc&after=${id}`)).body;
  assert.deepEqual(
    [page.object, page.data.length, page.first_id, page.last_id, page.has_more],
    ['list', 2, stores[3], stores[2], true],
  );
  const back = (await project.get(`/v1/vector_stores?before=${id}&limit=2`)).body;
  assert.deepEqual([back.first_id, back.last_id, back.has_more], [stores[2], stores[3], true]);

  const files: string[] = [];
  for (let made = 0; made < 5; made += 1) files.unshift(await upload(client, `${BREAD} ${made}`));
  await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [...files].reverse() });
  const seen: string[] = [];
  for await (const file of client.vectorStores.files.list(id, { limit: 2 })) seen.push(file.id);
  assert.deepEqual(seen, files);
  const unknown = await project.get(`${path}/files?after=file_unknown`);
  assert.deepEqual(
    [unknown.status, unknown.body.error.code, unknown.body.error.param],
    [422, 'invalid_cursor', 'after'],
  );
});

test('a search finds by meaning and by words, filters, weighs and pages', async () => {
  const { client, project, id, path } = await openStore();
  const [planets, bread] = [await upload(client, PLANETS, 'planets.txt'), await upload(client, BREAD, 'bread.txt')];
  await client.vectorStores.fileBatches.createAndPoll(id, {
    files: [
      { file_id: planets, attributes: { topic: 'space', year: 2020 } },
      { file_id: bread, attributes: { topic: 'food', year: 2024 } },
    ],
  });
  const search = async (body: object) => (await project.post(`${path}/search`, body)).body;
  const first = await search({ query: 'Which planet is the biggest?', rewrite_query: true });
  assert.deepEqual(
    [first.object, first.search_query],
    ['vector_store.search_results.page', ['Which planet is the biggest?']],
  );
  const [best] = first.data;
  assert.ok(best.score > 0 && best.score <= 1);
  assert.deepEqual(
    { ...best, score: 0 },
    {
      file_id: planets,
      filename: 'planets.txt',
      score: 0,
      attributes: { topic: 'space', year: 2020 },
      content: [{ type: 'text', text: PLANETS }],
    },
  );
  const filesOf = (body: { data: { file_id: string }[] }) => body.data.map((hit) => hit.file_id);
  const food = { type: 'eq', key: 'topic', value: 'food' };
  assert.deepEqual(filesOf(await search({ query: 'planet', filters: food })), [bread]);
  const both = { type: 'and', filters: [food, { type: 'lt', key: 'year', value: 2000 }] };
  assert.deepEqual(filesOf(await search({ query: 'planet', filters: both })), []);
  const wrong = await project.post(`${path}/search`, { query: 'x', filters: { type: 'like', key: 'a', value: 1 } });
  assert.deepEqual([wrong.status, wrong.body.error.code], [422, 'invalid_request']);
  const ranking_options = { hybrid_search: { embedding_weight: 0, text_weight: 1 } };
  assert.deepEqual(filesOf(await search({ query: 'sourdough', ranking_options })), [bread]);
  assert.deepEqual(filesOf(await search({ query: 'planet', ranking_options: { score_threshold: 1 } })), []);
  const several = await search({ query: ['planet', 'sourdough'] });
  assert.deepEqual(filesOf(several).sort(), [planets, bread].sort());

  const one = await search({ query: ['planet', 'sourdough'], max_num_results: 1 });
  assert.deepEqual([one.data.length, one.has_more], [1, true]);
  const two = await search({ query: ['planet', 'sourdough'], max_num_results: 1, page: one.next_page });
  assert.deepEqual([filesOf(one)[0] === filesOf(two)[0], two.has_more, two.next_page], [false, false, null]);
  const foreign = await project.post(`${path}/search`, { query: 'other', page: one.next_page });
  assert.equal(foreign.body.error.code, 'invalid_cursor');
  const found = await client.vectorStores.search(id, { query: 'bread' });
  assert.equal(found.data[0]?.file_id, bread);
  assert.ok((await project.get(path)).body.last_active_at > 0);
});
