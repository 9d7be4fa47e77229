/** The contract of vector stores beyond their main flow, and what comes at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toFile } from 'openai';
import { eventually } from '../../../../test/support/turns.ts';
import {
  BREAD,
  PLANETS,
  settled,
  testVectorStoreRaces,
  upload,
  useVectorStores,
} from '../../../../test/support/vector-stores.ts';
import { type RemoveStoreJob, removeStore } from '../../knowledge/ingest/remove-store.ts';
import { sweepIngestion } from '../../knowledge/ingest/sweep-ingestion.ts';

const stores = useVectorStores();
const { clientOf, openStore } = stores;

testVectorStoreRaces(stores, 2);

test('a store that is not used for its time expires: it is not searched, costs nothing and takes nothing more', async () => {
  const project = await stores.platform.createProject();
  const client = clientOf(project.token);
  const fileId = await upload(client, PLANETS);
  const store = await client.vectorStores.create({
    name: 'Short',
    expires_after: { anchor: 'last_active_at', days: 2 },
    file_ids: [fileId],
  });
  const path = `/v1/vector_stores/${store.id}`;
  const ready = await settled(project, path);
  assert.equal(ready.status, 'completed');
  assert.ok(ready.usage_bytes > 0);
  assert.equal(ready.expires_at, ready.last_active_at + 2 * 86_400);
  const smith = await project.createSmith({ vector_store_ids: [store.id] });
  const ask = async () => {
    const { body } = await project.post(
      '/v1/responses',
      { input: 'Which planet has rings?' },
      { 'ic-smith-id': smith },
    );
    return JSON.stringify(body.output);
  };
  const letHoursPass = (hours: number) =>
    stores.platform.db.query({
      text: `update vector_stores set last_active_at = last_active_at - make_interval(hours => $3)
             where project_id = $1 and id = $2`,
      values: [project.projectId, store.id, hours],
    });

  await letHoursPass(47);
  assert.match(await ask(), /Saturn has rings/);
  await letHoursPass(47);
  assert.equal((await project.get(path)).body.status, 'completed', 'a turn that searched it put its end off');

  await letHoursPass(2);
  const expired = (await project.get(path)).body;
  assert.deepEqual([expired.status, expired.usage_bytes], ['expired', 0]);
  assert.doesNotMatch(await ask(), /Saturn has rings/);
  const other = await upload(client, BREAD, 'bread.txt');
  for (const refused of [
    await project.post(`${path}/search`, { query: 'rings' }),
    await project.post(`${path}/files`, { file_id: other }),
    await project.post(`${path}/file_batches`, { file_ids: [other] }),
    await project.post(path, { expires_after: { anchor: 'last_active_at', days: 30 } }),
  ]) {
    assert.deepEqual([refused.status, refused.body.error?.code], [409, 'invalid_state'], refused.text);
  }
  assert.equal((await project.post(path, { name: 'Past' })).body.name, 'Past');

  const signal = new AbortController().signal;
  const removals: RemoveStoreJob[] = [];
  const jobs = { enqueue: async (_: unknown, __: string, job: RemoveStoreJob) => void removals.push(job) };
  await sweepIngestion(stores.platform.db, jobs as never, signal);
  for (const job of removals) await removeStore(stores.platform.db, job, signal);
  const { rows } = await stores.platform.db.query<{ count: number }>({
    text: 'select count(*)::int as count from vector_store_chunks where project_id = $1 and vector_store_id = $2',
    values: [project.projectId, store.id],
  });
  assert.equal(rows[0]?.count, 0);
  const swept = (await project.get(path)).body;
  assert.deepEqual([swept.status, swept.file_counts.total, swept.name], ['expired', 0, 'Past']);
  const behind = await project.get(`${path}/files?after=${fileId}`);
  assert.deepEqual([behind.status, behind.body.data], [200, []], 'a walk through its files comes to the end');
  assert.equal((await project.get(`/v1/files/${fileId}`)).status, 200, 'the file itself stays');
});

test('a store’s time can be changed and taken away', async () => {
  const { project, client, id, path } = await openStore({ expires_after: { anchor: 'last_active_at', days: 1 } });
  const longer = await client.vectorStores.update(id, { expires_after: { anchor: 'last_active_at', days: 9 } });
  assert.deepEqual(longer.expires_after, { anchor: 'last_active_at', days: 9 });
  assert.equal(longer.expires_at, longer.created_at + 9 * 86_400);
  const hours = (await project.post(path, { expires_after: { anchor: 'last_active_at', seconds: 5_400 } })).body;
  assert.deepEqual(hours.expires_after, { anchor: 'last_active_at', seconds: 5_400 });
  const { body } = await project.post(path, { expires_after: null });
  assert.deepEqual([body.expires_after, body.expires_at], [undefined, null]);
});

test('a body out of bounds is refused by the member at fault', async () => {
  const { project, path } = await openStore();
  const strategy = (size: number, overlap: number) => ({
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
    },
  });
  const inStatic = 'chunking_strategy.static';
  const ids = (count: number) => Array.from({ length: count }, (_, at) => `file_${at}`);
  const attributes = (values: object) => ({ file_id: 'file_1', attributes: values });
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
  const cases: [string, unknown, number, string, string][] = [
    ['/v1/vector_stores', strategy(99, 0), 422, 'invalid_request', `${inStatic}.max_chunk_size_tokens`],
    ['/v1/vector_stores', strategy(4097, 0), 422, 'invalid_request', `${inStatic}.max_chunk_size_tokens`],
    ['/v1/vector_stores', strategy(100, 51), 422, 'invalid_request', `${inStatic}.chunk_overlap_tokens`],
    ['/v1/vector_stores', strategy(100, -1), 422, 'invalid_request', `${inStatic}.chunk_overlap_tokens`],
    ['/v1/vector_stores', { chunking_strategy: { type: 'static' } }, 422, 'invalid_request', inStatic],
    ['/v1/vector_stores', { chunking_strategy: { type: 'best' } }, 422, 'invalid_request', 'chunking_strategy.type'],
    [
      '/v1/vector_stores',
      { expires_after: { anchor: 'created_at', days: 1 } },
      422,
      'invalid_request',
      'expires_after.anchor',
    ],
    [
      '/v1/vector_stores',
      { expires_after: { anchor: 'last_active_at' } },
      422,
      'invalid_request',
      'expires_after.days',
    ],
    [
      '/v1/vector_stores',
      { expires_after: { anchor: 'last_active_at', days: 1, seconds: 3600 } },
      422,
      'invalid_request',
      'expires_after.days',
    ],
    [
      '/v1/vector_stores',
      { expires_after: { anchor: 'last_active_at', days: 366 } },
      422,
      'invalid_request',
      'expires_after.days',
    ],
    [
      '/v1/vector_stores',
      { expires_after: { anchor: 'last_active_at', seconds: 3599 } },
      422,
      'invalid_request',
      'expires_after.seconds',
    ],
    ['/v1/vector_stores', { file_ids: ids(501) }, 422, 'invalid_request', 'file_ids'],
    ['/v1/vector_stores', { file_ids: ['file_0'] }, 404, 'not_found', 'file_ids.0'],
    ['/v1/vector_stores', { smith_id: 'smt_0' }, 404, 'not_found', 'smith_id'],
    ['/v1/vector_stores', { embedding_model: 'nowhere/x' }, 404, 'unknown_provider', 'embedding_model'],
    ['/v1/vector_stores', { embedding_model: 'builtin/demo' }, 422, 'invalid_request', 'embedding_model'],
    ['/v1/vector_stores', { embedding_model: 'openai/x' }, 422, 'model_key_missing', 'embedding_model'],
    ['/v1/vector_stores', { embedding_model: 'anthropic/x' }, 422, 'invalid_request', 'embedding_model'],
    [`${path}/files`, {}, 422, 'invalid_request', 'file_id'],
    [`${path}/files`, { file_id: 'file_0' }, 404, 'not_found', 'file_id'],
    [`${path}/files`, attributes({ a: 'x'.repeat(513) }), 422, 'invalid_request', 'attributes.a'],
    [`${path}/files`, attributes({ a: null }), 422, 'invalid_request', 'attributes.a'],
    [`${path}/files`, attributes({ a: ['x'] }), 422, 'invalid_request', 'attributes.a'],
    [`${path}/files`, attributes(keys(17)), 422, 'invalid_request', 'attributes'],
    [`${path}/files`, attributes({ ['k'.repeat(65)]: 1 }), 422, 'invalid_request', 'attributes'],
    [`${path}/file_batches`, {}, 422, 'invalid_request', 'file_ids'],
    [`${path}/file_batches`, { file_ids: [] }, 422, 'invalid_request', 'file_ids'],
    [`${path}/file_batches`, { file_ids: ids(2001) }, 422, 'invalid_request', 'file_ids'],
    [`${path}/file_batches`, { files: [] }, 422, 'invalid_request', 'files'],
    [`${path}/file_batches`, { files: [{ file_id: 'a' }], file_ids: ['a'] }, 422, 'invalid_request', 'files'],
    [
      `${path}/file_batches`,
      { files: [{ file_id: 'a' }, { file_id: 'a', attributes: { x: 1 } }] },
      422,
      'invalid_request',
      'files.1.file_id',
    ],
    [
      `${path}/file_batches`,
      { files: [{ file_id: 'a', ...strategy(100, 60) }] },
      422,
      'invalid_request',
      `files.0.${inStatic}.chunk_overlap_tokens`,
    ],
    [`${path}/search`, {}, 422, 'invalid_request', 'query'],
    [`${path}/search`, { query: '' }, 422, 'invalid_request', 'query'],
    [`${path}/search`, { query: [] }, 422, 'invalid_request', 'query'],
    [`${path}/search`, { query: ['a', ''] }, 422, 'invalid_request', 'query.1'],
    [`${path}/search`, { query: 'a', max_num_results: 0 }, 422, 'invalid_request', 'max_num_results'],
    [`${path}/search`, { query: 'a', max_num_results: 51 }, 422, 'invalid_request', 'max_num_results'],
    [
      `${path}/search`,
      { query: 'a', ranking_options: { score_threshold: 1.1 } },
      422,
      'invalid_request',
      'ranking_options.score_threshold',
    ],
    [
      `${path}/search`,
      { query: 'a', ranking_options: { hybrid_search: { embedding_weight: 1 } } },
      422,
      'invalid_request',
      'ranking_options.hybrid_search.text_weight',
    ],
    [`${path}/search`, { query: 'a', page: 'x' }, 422, 'invalid_cursor', 'page'],
  ];
  for (const [at, body, status, code, param] of cases) {
    const answer = await project.post(at, body);
    const what = JSON.stringify(body).slice(0, 120);
    assert.deepEqual([answer.status, answer.body.error?.code, answer.body.error?.param], [status, code, param], what);
  }
  assert.equal((await project.get(path)).body.file_counts.total, 0, 'no refusal added anything');
});

test('chunks are as long as the strategy says, the file’s own before the store’s', async () => {
  const text = Array.from({ length: 150 }, (_, at) => `Sentence number ${at} is here.`).join(' ');
  const chunking = (size: number, overlap: number) => ({
    type: 'static' as const,
    static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
  });
  const { client, project, id, path } = await openStore({ chunking_strategy: chunking(500, 0) });
  const [a, b] = [await upload(client, text), await upload(client, text)];
  await client.vectorStores.files.createAndPoll(id, { file_id: a });
  await client.vectorStores.files.createAndPoll(id, { file_id: b, chunking_strategy: chunking(100, 50) });
  const countOf = async (fileId: string) => (await project.get(`${path}/files/${fileId}/content`)).body.data.length;
  const [large, small] = [await countOf(a), await countOf(b)];
  assert.ok(large > 1 && small > 5 * large, `${large} and ${small} chunks`);
  assert.deepEqual((await project.get(`${path}/files/${b}`)).body.chunking_strategy, chunking(100, 50));
});

test('a file that gives no text fails with its reason, and can be added again', async () => {
  const { client, project, id, path } = await openStore();
  const fileId = await upload(client, '\u0000\u0001\u0002\u0003'.repeat(100), 'blob.bin');
  const file = await client.vectorStores.files.createAndPoll(id, { file_id: fileId });
  assert.equal(file.status, 'failed');
  assert.equal(file.last_error?.code, 'unsupported_file');
  assert.equal((await project.get(path)).body.file_counts.failed, 1);
  const events = (await project.get('/v1/events?type=vector_store.file.failed')).body.data;
  assert.deepEqual(events[0].data, {
    vector_store_id: id,
    file_id: fileId,
    code: 'unsupported_file',
    message: file.last_error?.message,
  });
  const again = await project.post(`${path}/files`, { file_id: fileId });
  assert.equal(again.status, 200, again.text);
  assert.deepEqual([again.body.status, again.body.last_error], ['in_progress', null]);
});

test('a file that is there already is refused, and named, and no client asks again by itself', async () => {
  const { client, project, id, path } = await openStore();
  const [a, b] = [await upload(client, PLANETS), await upload(client, BREAD)];
  await client.vectorStores.files.createAndPoll(id, { file_id: a });
  const single = await project.post(`${path}/files`, { file_id: a });
  assert.deepEqual(
    [single.status, single.body.error.code, single.body.error.param],
    [409, 'file_already_attached', 'file_id'],
  );
  const batch = await project.post(`${path}/file_batches`, { file_ids: [b, a] });
  assert.deepEqual(
    [batch.status, batch.body.error.code, batch.body.error.param],
    [409, 'file_already_attached', 'file_ids.1'],
  );
  for (const { headers } of [single, batch]) assert.equal(headers.get('x-should-retry'), 'false');
  assert.equal((await project.get(path)).body.file_counts.total, 1);
});

test('files of a batch have settings of their own', async () => {
  const { client, project, id, path } = await openStore();
  const [a, b] = [await upload(client, PLANETS), await upload(client, BREAD)];
  const made = await project.post(`${path}/file_batches`, {
    files: [{ file_id: a, attributes: { n: 1 } }, { file_id: b }],
    attributes: { n: 2 },
  });
  assert.equal(made.status, 200, made.text);
  assert.deepEqual((await project.get(`${path}/files/${a}`)).body.attributes, { n: 1 });
  assert.deepEqual((await project.get(`${path}/files/${b}`)).body.attributes, { n: 2 });
  await client.vectorStores.fileBatches.poll(id, made.body.id);
});

test('a client that polls is told when to ask again, as long as the work goes on', async () => {
  const { client, project, path } = await openStore();
  const fileId = await upload(client, PLANETS);
  await project.post(`${path}/files`, { file_id: fileId });
  const seen = await eventually(async () => {
    const { body, headers } = await project.get(`${path}/files/${fileId}`);
    const after = headers.get('openai-poll-after-ms');
    if (body.status === 'in_progress') {
      assert.ok(Number(after) >= 200 && Number(after) <= 1000, String(after));
      return undefined;
    }
    return { after };
  }, 'the file is indexed');
  assert.equal(seen.after, null);
});

test('cancelling a batch ends it at once, and leaves nothing of the files that were not done', async () => {
  const { client, project, id, path } = await openStore();
  const files = await Promise.all(Array.from({ length: 20 }, (_, at) => upload(client, `${PLANETS} ${at}`)));
  const batch = await client.vectorStores.fileBatches.create(id, { file_ids: files });
  const cancelled = await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id });
  assert.equal(cancelled.status, 'cancelled');
  const { completed, failed } = cancelled.file_counts;
  assert.deepEqual(cancelled.file_counts, {
    in_progress: 0,
    completed,
    failed,
    cancelled: 20 - completed - failed,
    total: 20,
  });
  assert.ok(cancelled.file_counts.cancelled > 0);
  const after = await client.vectorStores.fileBatches.poll(id, batch.id);
  assert.equal(after.status, 'cancelled');
  assert.deepEqual((await project.get(path)).body.file_counts, cancelled.file_counts);
  const hit = (await project.get(`${path}/files?filter=cancelled&limit=1`)).body.data[0].id;
  assert.deepEqual((await project.get(`${path}/files/${hit}/content`)).body.data, []);
  const again = await client.vectorStores.files.createAndPoll(id, { file_id: hit });
  assert.equal(again.status, 'completed', 'a cancelled file can be added again');
  const ended = await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [await upload(client, BREAD)] });
  const late = await client.vectorStores.fileBatches.cancel(ended.id, { vector_store_id: id });
  assert.deepEqual(late, ended, 'a batch that has ended stays so');
});

test('attributes are replaced and emptied', async () => {
  const { client, project, id, path } = await openStore();
  const fileId = await upload(client, PLANETS);
  await client.vectorStores.files.createAndPoll(id, { file_id: fileId, attributes: { a: 1, b: 'x', c: true } });
  const file = `${path}/files/${fileId}`;
  assert.deepEqual((await project.get(file)).body.attributes, { a: 1, b: 'x', c: true });
  const changed = await client.vectorStores.files.update(fileId, { vector_store_id: id, attributes: { a: 2 } });
  assert.deepEqual(changed.attributes, { a: 2 });
  assert.equal((await project.post(file, { attributes: null })).body.attributes, null);
  const missing = await project.post(file, {});
  assert.deepEqual([missing.status, missing.body.error.param], [422, 'attributes']);
});

test('a store’s name, description and metadata are changed and emptied', async () => {
  const { project, path } = await openStore({ name: 'A', description: 'D', metadata: { k: 'v' } });
  const renamed = (await project.post(path, { name: 'B', expires_after: null })).body;
  assert.deepEqual([renamed.name, renamed.description, renamed.metadata], ['B', 'D', { k: 'v' }]);
  const emptied = (await project.post(path, { name: null, description: null, metadata: null })).body;
  assert.deepEqual([emptied.name, emptied.description, emptied.metadata], ['', null, {}]);
  assert.equal((await project.post(path, {})).status, 200);
});

test('a file that leaves a store leaves with its chunks and its count, and stays a file', async () => {
  const { client, project, id, path } = await openStore();
  const file = await client.vectorStores.files.uploadAndPoll(id, await toFile(Buffer.from(PLANETS), 'a.txt'));
  const gone = await client.vectorStores.files.delete(file.id, { vector_store_id: id });
  assert.deepEqual(gone, { id: file.id, object: 'vector_store.file.deleted', deleted: true });
  assert.equal((await project.get(`${path}/files/${file.id}`)).status, 404);
  assert.equal((await project.delete(`${path}/files/${file.id}`)).status, 404);
  const store = (await project.get(path)).body;
  assert.deepEqual([store.file_counts.total, store.usage_bytes], [0, 0]);
  assert.equal((await project.get(`/v1/files/${file.id}`)).status, 200);
});

test('a smith sees and makes only stores and files of its own', async () => {
  const { client, project, path } = await openStore();
  const [one, two] = [await project.createSmith(), await project.createSmith()];
  const scopes = ['vector_stores:read', 'vector_stores:write', 'files:read', 'files:write'];
  const [mine, other] = [
    project.as(await project.smithToken(one, scopes)),
    project.as(await project.smithToken(two, scopes)),
  ];
  const made = (await mine.post('/v1/vector_stores', { name: 'mine' })).body;
  assert.equal(made.smith_id, one);
  assert.equal((await mine.post('/v1/vector_stores', { smith_id: two })).body.error.code, 'smith_mismatch');
  assert.deepEqual(
    (await mine.get('/v1/vector_stores')).body.data.map((row: { id: string }) => row.id),
    [made.id],
  );
  assert.equal((await mine.get(path)).status, 404);
  const ownPath = `/v1/vector_stores/${made.id}`;
  assert.equal((await other.get(ownPath)).text, (await other.get('/v1/vector_stores/vs_0')).text);
  assert.equal((await project.get(ownPath)).status, 200);
  const [theirs, ofTenant] = [await upload(clientOf(other.token), BREAD), await upload(client, BREAD)];
  for (const file_id of [theirs, ofTenant]) {
    const refused = await mine.post(`${ownPath}/files`, { file_id });
    assert.deepEqual([refused.status, refused.body.error.param], [404, 'file_id']);
  }
  const own = await upload(clientOf(mine.token), BREAD);
  assert.equal((await mine.post(`${ownPath}/files`, { file_id: own })).status, 200);
  assert.equal((await other.post(`${ownPath}/search`, { query: 'bread' })).status, 404);
  assert.equal((await settled(project, `${ownPath}/files/${own}`)).status, 'completed');
  assert.equal((await project.post(`${path}/files`, { file_id: own })).status, 200, 'the tenant adds any file');
});

test('files that are not completed are not found, and a search writes at most once a minute', async () => {
  const { client, project, id, path } = await openStore();
  const file = await client.vectorStores.files.uploadAndPoll(id, await toFile(Buffer.from(PLANETS), 'a.txt'));
  const count = async () => (await project.post(`${path}/search`, { query: 'planet' })).body.data.length;
  assert.equal(await count(), 1);
  const setStatus = (status: string) =>
    stores.platform.db.query({
      text: 'update vector_store_files set status = $3 where project_id = $1 and file_id = $2',
      values: [project.projectId, file.id, status],
    });
  await setStatus('in_progress');
  assert.equal(await count(), 0);
  await setStatus('completed');
  const activity = async () =>
    (
      await stores.platform.db.query<{ at: string }>({
        text: 'select last_active_at::text as at from vector_stores where project_id = $1 and id = $2',
        values: [project.projectId, id],
      })
    ).rows[0]?.at;
  await stores.platform.db.query({
    text: `update vector_stores set last_active_at = now() - interval '2 minutes' where project_id = $1 and id = $2`,
    values: [project.projectId, id],
  });
  const stale = await activity();
  await count();
  const fresh = await activity();
  assert.notEqual(fresh, stale);
  await count();
  assert.equal(await activity(), fresh);
});
