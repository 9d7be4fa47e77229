import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { reconcileStorage } from '../../maintenance/reconcile-storage.ts';
import { expireFiles } from './expire-files.ts';
import { measureStorage } from './storage-quota.ts';

/** More than the vector of a chunk takes. */
const LIMIT_BYTES = 100_000;
const NEVER = new AbortController().signal;
const logger = openTestLogger();

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ limits: { projectStorageBytes: LIMIT_BYTES, fileLimitBytes: LIMIT_BYTES * 2 } });
});
after(() => platform.close());

async function upload(p: TestProject, bytes: number, fields: Record<string, string> = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([Buffer.alloc(bytes, 'x')]), 'a.txt');
  const { status, body, text } = await p.post('/v1/files', form);
  return { status, body, text, code: body.error?.code };
}

async function usedBytes(p: TestProject): Promise<number> {
  const answer = await p.get('/v1/tenant/storage');
  assert.deepEqual(answer.body, { object: 'storage', used_bytes: answer.body.used_bytes, limit_bytes: LIMIT_BYTES });
  return answer.body.used_bytes;
}

async function countLeftovers({ projectId }: TestProject): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: 'select count(*) as count from unclaimed_blobs where project_id = $1',
    values: [projectId],
  });
  return rows[0]?.count ?? -1;
}

async function setUsed({ projectId }: TestProject, bytes: number): Promise<void> {
  await platform.db.query({
    text: 'update project_storage set used_bytes = $2 where project_id = $1',
    values: [projectId, bytes],
  });
}

test('a project stores up to its limit, to the byte, and no other project feels it', async () => {
  const [p, other] = [await platform.createProject(), await platform.createProject()];
  assert.equal(await usedBytes(p), 0);
  assert.equal((await upload(p, LIMIT_BYTES + 1)).code, 'payload_too_large');
  assert.equal(await usedBytes(p), 0);
  assert.equal((await upload(p, 40_000)).status, 200);
  const refused = await upload(p, 60_001);
  assert.deepEqual([refused.status, refused.code, refused.body.error.param], [413, 'payload_too_large', 'file']);
  assert.match(refused.body.error.message, /may take 100000 bytes together/);
  assert.deepEqual(refused.body.error.details, { limit_bytes: LIMIT_BYTES });
  assert.equal((await upload(p, 60_000)).status, 200);
  assert.equal(await usedBytes(p), LIMIT_BYTES);
  assert.equal((await upload(p, 1)).code, 'payload_too_large');
  assert.equal(await countLeftovers(p), 0);
  assert.equal((await upload(other, LIMIT_BYTES)).status, 200);
});

test('of uploads that end at the same time no more pass than fit', async () => {
  const p = await platform.createProject();
  const answers = await Promise.all(Array.from({ length: 12 }, () => upload(p, 30_000)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(3).fill(200), ...Array(9).fill(413)]);
  assert.equal(await usedBytes(p), 90_000);
  assert.equal(await countLeftovers(p), 0);
});

test('what is deleted is given back, once, however many delete it', async () => {
  const p = await platform.createProject();
  const { body } = await upload(p, 70_000);
  await upload(p, 10_000);
  await Promise.all(Array.from({ length: 6 }, () => p.delete(`/v1/files/${body.id}`)));
  assert.equal(await usedBytes(p), 10_000);
  assert.equal((await upload(p, 90_000)).status, 200);
});

test('what ends by itself is given back', async () => {
  const p = await platform.createProject();
  await upload(p, 70_000, { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' });
  await platform.db.query({
    text: `update files set expires_at = now() - interval '1 second' where project_id = $1`,
    values: [p.projectId],
  });
  await expireFiles({ db: platform.db, blobs: platform.blobs, logger }, NEVER);
  assert.equal(await usedBytes(p), 0);
});

/** The store's file once it is settled. */
async function index(p: TestProject, vectorStoreId: string, fileId: string) {
  const added = await p.post(`/v1/vector_stores/${vectorStoreId}/files`, { file_id: fileId });
  assert.equal(added.status, 200, added.text);
  return eventually(async () => {
    const { body } = await p.get(`/v1/vector_stores/${vectorStoreId}/files/${fileId}`);
    return body.status === 'in_progress' ? undefined : body;
  }, 'the file is settled');
}

describe('what vector stores hold', () => {
  const CHUNK_BYTES = 1_024;

  const stored = async (p: TestProject) => (await p.get('/v1/tenant/storage')).body.used_bytes;

  test('is counted, and given back when a file is taken out, or the store is deleted', async () => {
    const p = await platform.createProject();
    const { body: file } = await upload(p, 300);
    const first = (await p.post('/v1/vector_stores', {})).body.id;
    const second = (await p.post('/v1/vector_stores', {})).body.id;
    const { usage_bytes: size, status } = await index(p, first, file.id);
    assert.deepEqual([status, size], ['completed', 300 + CHUNK_BYTES]);
    assert.equal(await stored(p), 300 + size);
    await index(p, second, file.id);
    assert.equal(await stored(p), 300 + 2 * size);
    await p.delete(`/v1/vector_stores/${first}/files/${file.id}`);
    assert.equal(await stored(p), 300 + size);
    await p.delete(`/v1/vector_stores/${second}`);
    assert.equal(await stored(p), 300);
    // The rows of the deleted one go by themselves, and are not given back a second time.
    await eventually(async () => {
      const { rowCount } = await platform.db.query({
        text: 'select from vector_stores where id = $1',
        values: [second],
      });
      return rowCount === 0 ? true : undefined;
    }, 'the store is removed');
    assert.equal(await stored(p), 300);
  });

  test('fits to the byte, or the file is failed with the limit', async () => {
    const p = await platform.createProject();
    const { body: file } = await upload(p, 300);
    const store = (await p.post('/v1/vector_stores', {})).body.id;
    await setUsed(p, LIMIT_BYTES - 300 - CHUNK_BYTES + 1);
    const refused = await index(p, store, file.id);
    assert.deepEqual([refused.status, refused.last_error?.code], ['failed', 'server_error']);
    assert.match(refused.last_error.message, /may take 100000 bytes together/);
    await setUsed(p, LIMIT_BYTES - 300 - CHUNK_BYTES);
    assert.equal((await index(p, store, file.id)).status, 'completed');
    assert.equal(await stored(p), LIMIT_BYTES);
  });

  test('is counted anew with the files', async () => {
    const p = await platform.createProject();
    const { body: file } = await upload(p, 300);
    const { usage_bytes: size } = await index(p, (await p.post('/v1/vector_stores', {})).body.id, file.id);
    await setUsed(p, 1);
    await reconcileStorage({ db: platform.db, logger }, NEVER);
    assert.equal(await stored(p), 300 + size);
  });
});

test('a count that is wrong is corrected, also while files come and go', async () => {
  const [p, right, empty] = [
    await platform.createProject(),
    await platform.createProject(),
    await platform.createProject(),
  ];
  for (const project of [p, right, empty]) await upload(project, 10);
  await setUsed(p, 123);
  await platform.db.query({ text: 'delete from project_storage where project_id = $1', values: [empty.projectId] });
  const changes = Array.from({ length: 10 }, async () => {
    const { body } = await upload(p, 10);
    await p.delete(`/v1/files/${body.id}`);
  });
  await Promise.all([...changes, reconcileStorage({ db: platform.db, logger }, NEVER)]);
  await reconcileStorage({ db: platform.db, logger }, NEVER);
  assert.deepEqual([await usedBytes(p), await usedBytes(right), await usedBytes(empty)], [10, 10, 10]);
});

test('the operator sees what all projects store', async () => {
  await platform.createProject().then((p) => upload(p, 77));
  const { rows } = await platform.db.query<{ bytes: number }>({
    text: `select sum(bytes)::bigint as bytes from (select bytes from files union all select usage_bytes from vector_stores) stored (bytes)`,
    values: [],
  });
  const metrics = createMetrics();
  measureStorage(metrics, platform.db);
  const page = await metrics.render();
  assert.equal(Number(/^stored_file_bytes (\d+)$/m.exec(page)?.[1]), rows[0]?.bytes);
});

test('an end user’s token does not see what the project stores', async () => {
  const p = await platform.createProject();
  const smith = p.as(await p.smithToken(await p.createSmith(), ['files:read', 'usage:read']));
  assert.equal((await smith.get('/v1/tenant/storage')).body.error.code, 'tenant_token_required');
});
