/** Bytes that come inside a turn are kept with it; of a turn that is refused nothing is. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { makeSmith, type TestSmith } from '../../../../test/support/turns.ts';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';

const STORAGE_BYTES = 1_000;
const SIZE = 40;
const FILE = {
  type: 'input_file',
  filename: 'a.txt',
  file_data: `data:text/plain;base64,${Buffer.alloc(SIZE, 'x').toString('base64')}`,
};
const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };

let shared: TestPlatform;
let platform: TestPlatform;
/** Keys that have been stored and not removed. */
const keys = new Set<string>();
/** Fails the next upload. */
let isDiskFull = false;

before(async () => {
  shared = await startPlatform({});
  const { db, vault, blobs } = shared;
  const watched: BlobStore = {
    ...blobs,
    async put(key, source, limits) {
      if (isDiskFull) throw new Error('ENOSPC');
      const stored = await blobs.put(key, source, limits);
      keys.add(key);
      return stored;
    },
    async remove(key) {
      await blobs.remove(key);
      keys.delete(key);
    },
  };
  platform = await startPlatform({
    sharing: { db, vault, blobs: watched },
    limits: { projectStorageBytes: STORAGE_BYTES },
  });
});
after(async () => {
  await platform.close();
  await shared.close();
});

const userMessage = (...content: object[]) => ({ input: [{ role: 'user', content }] });

async function countOf(table: 'files' | 'unclaimed_blobs', { project }: TestSmith): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: `select count(*) as count from ${table} where project_id = $1`,
    values: [project.projectId],
  });
  return rows[0]?.count ?? -1;
}

function blobsOf({ project }: TestSmith): number {
  return [...keys].filter((key) => key.startsWith(`${project.projectId}/`)).length;
}

async function assertNothingKept(smith: TestSmith): Promise<void> {
  const counts = [await countOf('files', smith), await countOf('unclaimed_blobs', smith), blobsOf(smith)];
  assert.deepEqual(counts, [0, 0, 0]);
  assert.equal((await smith.project.get('/v1/tenant/storage')).body.used_bytes, 0);
}

function codeOf({ status, body }: Answer): unknown[] {
  return [status, body.error?.code];
}

test('a turn that starts keeps its files, and they count', async () => {
  const smith = await makeSmith(platform);
  const run = await smith.project.post(smith.runs, userMessage({ type: 'text', text: 'Hi' }, FILE, IMAGE));
  assert.equal(run.status, 201, run.text);
  assert.deepEqual([await countOf('files', smith), await countOf('unclaimed_blobs', smith), blobsOf(smith)], [2, 0, 2]);
  assert.equal((await smith.project.get('/v1/tenant/storage')).body.used_bytes, SIZE + 8);
  const [id] = run.body.input[0].content.map((part: { file_id?: string }) => part.file_id).filter(Boolean);
  assert.equal((await smith.project.get(`/v1/files/${id}/content`)).text, 'x'.repeat(SIZE));
});

test('a busy smith’s refusal keeps nothing, on every surface', async () => {
  const smith = await makeSmith(platform);
  const busy = await smith.begin('Write 100000 words at 1 words per second');
  const answers = [
    await smith.project.post(smith.runs, userMessage(FILE, IMAGE)),
    await smith.project.post('/v1/responses', userMessage(FILE, IMAGE), { 'ic-smith-id': smith.id }),
    await smith.project.post(
      '/v1/chat/completions',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hi' },
              { type: 'file', file: FILE },
            ],
          },
        ],
      },
      { 'ic-smith-id': smith.id },
    ),
  ];
  for (const answer of answers) assert.deepEqual(codeOf(answer), [400, 'conversation_locked'], answer.text);
  await assertNothingKept(smith);
  await smith.cancel(busy);
});

test('a message at fault keeps nothing of those before it', async () => {
  const smith = await makeSmith(platform);
  const missing = { type: 'input_file', file_id: 'file_00000000000000000000000000' };
  assert.deepEqual(codeOf(await smith.project.post(smith.runs, userMessage(FILE, IMAGE, missing))), [
    422,
    'invalid_input',
  ]);
  await assertNothingKept(smith);
});

test('a repeated Idempotency-Key keeps the files once', async () => {
  const smith = await makeSmith(platform);
  const ask = () => smith.project.post(smith.runs, userMessage(FILE), { 'idempotency-key': 'once' });
  const answers = await Promise.all([ask(), ask(), ask(), ask()]);
  answers.push(await ask());
  const codes = answers.map(({ status, body }) => body.error?.code ?? status);
  assert.ok(
    codes.every((code) => code === 201 || code === 'idempotency_in_progress'),
    codes.join(),
  );
  assert.equal(new Set(answers.flatMap(({ body }) => body.id ?? [])).size, 1);
  assert.deepEqual([await countOf('files', smith), await countOf('unclaimed_blobs', smith), blobsOf(smith)], [1, 0, 1]);
});

test('a disk that is full refuses the turn and keeps nothing', async () => {
  const smith = await makeSmith(platform);
  isDiskFull = true;
  const answer = await smith.project.post(smith.runs, userMessage(FILE));
  isDiskFull = false;
  assert.deepEqual(codeOf(answer), [503, 'storage_unavailable']);
  await assertNothingKept(smith);
  assert.equal((await smith.project.get(smith.runs)).body.data.length, 0);
});

test('files that the project has no room for refuse the turn; those that fill it to the last byte do not', async () => {
  const smith = await makeSmith(platform);
  const file = (bytes: number) => ({ ...FILE, file_data: Buffer.alloc(bytes, 'x').toString('base64') });
  const ask = (...sizes: number[]) => smith.project.post(smith.runs, userMessage(...sizes.map(file)));
  const refused = await ask(600, 401);
  assert.deepEqual(codeOf(refused), [413, 'payload_too_large']);
  assert.match(refused.body.error.message, /may take 1000 bytes together/);
  await assertNothingKept(smith);
  assert.equal((await ask(600, 400)).status, 201);
  assert.equal((await smith.project.get('/v1/tenant/storage')).body.used_bytes, STORAGE_BYTES);
  assert.deepEqual(codeOf(await ask(1)), [413, 'payload_too_large']);
});

test('a turn takes 500 files and images, and not one more', async () => {
  const smith = await makeSmith(platform);
  const messages = (count: number) => ({
    input: Array.from({ length: Math.ceil(count / 100) }, (_, index) => ({
      role: 'user',
      content: Array.from({ length: Math.min(100, count - index * 100) }, () => ({
        type: 'input_file',
        filename: 'a.txt',
        file_data: 'eA==',
      })),
    })),
  });
  const refused = await smith.project.post(smith.runs, messages(501));
  assert.deepEqual(codeOf(refused), [422, 'too_many_inputs']);
  assert.match(refused.body.error.message, /501.*500/);
  await assertNothingKept(smith);
  const taken = await smith.project.post(smith.runs, messages(500));
  assert.equal(taken.status, 201, taken.text);
  assert.equal(await countOf('files', smith), 500);
});
