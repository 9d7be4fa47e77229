/** What the official client does with files, against this server. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import OpenAI, { APIError, NotFoundError, toFile } from 'openai';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ limits: { fileLimitBytes: 1024 * 1024 } });
});
after(() => platform.close());

async function connect(): Promise<OpenAI> {
  const { token } = await platform.createProject();
  return new OpenAI({ apiKey: token, baseURL: `${platform.url}/v1`, maxRetries: 0 });
}

test('uploads a stream of the disk, waits for it, reads it back and deletes it', async (t) => {
  const client = await connect();
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-files-'));
  t.after(() => rm(folder, { recursive: true }));
  const content = randomBytes(300_000);
  await writeFile(join(folder, 'Übersicht.pdf'), content);
  const stream = createReadStream(join(folder, 'Übersicht.pdf'));
  const file = await client.files.create({ file: stream, purpose: 'assistants' });
  assert.deepEqual([file.object, file.bytes, file.purpose], ['file', 300_000, 'assistants']);
  assert.equal(file.filename, 'Übersicht.pdf');
  assert.equal((await client.files.waitForProcessing(file.id)).status, 'processed');
  assert.deepEqual(await client.files.retrieve(file.id), file);
  const response = await client.files.content(file.id);
  assert.equal(response.headers.get('content-type'), 'application/pdf');
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), content);
  assert.deepEqual(await client.files.delete(file.id), { id: file.id, object: 'file', deleted: true });
  await assert.rejects(client.files.retrieve(file.id), NotFoundError);
});

test('uploads what is in memory, with what else it knows to send', async () => {
  const client = await connect();
  const file = await client.files.create({
    file: await toFile(Buffer.from('{"a": 1}\n'), 'rows.jsonl', { type: 'application/jsonl' }),
    purpose: 'fine-tune',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  });
  assert.deepEqual([file.filename, file.purpose, file.status_details], ['rows.jsonl', 'fine-tune', null]);
  assert.equal(file.expires_at, file.created_at + 3600);
  assert.equal(await (await client.files.content(file.id)).text(), '{"a": 1}\n');
});

test('pages through a list by itself', async () => {
  const client = await connect();
  const made: string[] = [];
  for (let number = 0; number < 7; number += 1) {
    const purpose = number % 2 === 0 ? ('batch' as const) : ('user_data' as const);
    made.push((await client.files.create({ file: await toFile(Buffer.from('x'), `${number}.txt`), purpose })).id);
  }
  const met: string[] = [];
  for await (const file of client.files.list({ limit: 3, order: 'asc' })) met.push(file.id);
  assert.deepEqual(met, made);
  const batches: string[] = [];
  for await (const file of client.files.list({ limit: 2, purpose: 'batch' })) batches.push(file.id);
  assert.deepEqual(batches, made.filter((_, number) => number % 2 === 0).reverse());
});

test('is told of a file that is too large while it sends it', async () => {
  const client = await connect();
  const file = await toFile(Buffer.alloc(3 * 1024 * 1024), 'large.bin');
  await assert.rejects(client.files.create({ file, purpose: 'user_data' }), (error) => {
    assert.ok(error instanceof APIError);
    assert.deepEqual([error.status, error.code, error.param], [413, 'payload_too_large', 'file']);
    return true;
  });
});
