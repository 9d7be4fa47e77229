import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { BlobNotFoundError, BlobRangeError, type BlobStore, BlobTooLargeError, digestOfKey } from './blobs.ts';
import { createFolderBlobStore } from './folder-blob-store.ts';

const MAX = { maxBytes: 10_000_000 };

function makeStore(t: TestContext): { store: BlobStore; root: string; files: () => string[] } {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-blobs-'));
  t.after(() => rmSync(root, { recursive: true }));
  const files = () =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(root, path)).isFile());
  return { store: createFolderBlobStore(root), root, files };
}

async function* chunks(...parts: (Uint8Array | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield part;
  }
}

test('a blob comes back byte for byte, with its size and digest', async (t) => {
  const { store, files } = makeStore(t);
  const content = randomBytes(300_000);
  const stored = await store.put(
    'proj_1/file_1',
    Readable.from([content.subarray(0, 100_000), content.subarray(100_000)]),
    MAX,
  );
  assert.deepEqual(stored, { bytes: 300_000, sha256: createHash('sha256').update(content).digest('hex') });
  const { stream, bytes, totalBytes } = await store.get('proj_1/file_1');
  assert.deepEqual([bytes, totalBytes], [300_000, 300_000]);
  assert.deepEqual(await buffer(stream), content);
  assert.equal(files().length, 1);
});

test('an empty blob is a blob', async (t) => {
  const { store } = makeStore(t);
  assert.equal((await store.put('empty', chunks(), MAX)).bytes, 0);
  const { stream, bytes } = await store.get('empty');
  assert.equal(bytes, 0);
  assert.equal((await buffer(stream)).length, 0);
});

test('ranges include both ends and stop at the last byte', async (t) => {
  const { store } = makeStore(t);
  await store.put('digits', chunks(Buffer.from('0123456789')), MAX);
  const read = async (start: number, end?: number) => {
    const part = await store.get('digits', end === undefined ? { start } : { start, end });
    const text = (await buffer(part.stream)).toString();
    assert.equal(part.bytes, text.length);
    assert.equal(part.totalBytes, 10);
    return text;
  };
  assert.equal(await read(2, 4), '234');
  assert.equal(await read(0, 0), '0');
  assert.equal(await read(7), '789');
  assert.equal(await read(8, 99), '89');
  await assert.rejects(store.get('digits', { start: 10 }), BlobRangeError);
  await assert.rejects(store.get('digits', { start: 4, end: 3 }), BlobRangeError);
});

test('content past the limit is refused while it arrives and leaves nothing', async (t) => {
  const { store, files } = makeStore(t);
  let taken = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      taken += 1;
      yield Buffer.alloc(1000);
    }
  }
  await assert.rejects(store.put('big', endless(), { maxBytes: 5000 }), BlobTooLargeError);
  assert.equal(taken, 6);
  assert.deepEqual(files(), []);
  assert.equal((await store.put('fits', chunks(Buffer.alloc(5000)), { maxBytes: 5000 })).bytes, 5000);
});

test('a failed replacement leaves the earlier blob', async (t) => {
  const { store, files } = makeStore(t);
  await store.put('kept', chunks(Buffer.from('first')), MAX);
  await assert.rejects(store.put('kept', chunks(Buffer.from('second'), new Error('broken off')), MAX), /broken off/);
  assert.equal((await buffer((await store.get('kept')).stream)).toString(), 'first');
  assert.equal(files().length, 1);
});

test('an upload whose sender goes away leaves nothing', async (t) => {
  const { store, files } = makeStore(t);
  const arrived = Promise.withResolvers<void>();
  const server = createServer((req) => {
    arrived.resolve();
    outcome.resolve(store.put('upload', req, MAX));
  });
  const outcome = Promise.withResolvers<unknown>();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const sender = request({ port, host: '127.0.0.1', method: 'PUT', headers: { 'content-length': 1_000_000 } });
  sender.on('error', () => {});
  sender.write(Buffer.alloc(1000));
  await arrived.promise;
  sender.destroy();
  await assert.rejects(outcome.promise, /aborted/);
  assert.deepEqual(files(), []);
  assert.equal(await store.exists('upload'), false);
});

test('a removed blob is gone, and one being read is read to its end', {
  skip: process.platform === 'win32',
}, async (t) => {
  const { store } = makeStore(t);
  await store.put('going', chunks(Buffer.alloc(500_000, 1)), MAX);
  const { stream } = await store.get('going');
  await store.remove('going');
  await store.remove('going');
  assert.equal(await store.exists('going'), false);
  await assert.rejects(store.get('going'), BlobNotFoundError);
  assert.equal((await buffer(stream)).length, 500_000);
});

const BAD_KEYS = [
  '',
  '.',
  '..',
  '../x',
  'a/../b',
  '/etc/passwd',
  'a//b',
  'a/',
  'a\\b',
  'a\0b',
  'a b',
  '.hidden',
  'é',
  'a\n',
  'x'.repeat(513),
];

for (const key of BAD_KEYS) {
  test(`the key ${JSON.stringify(key.slice(0, 20))} is refused`, async (t) => {
    const { store, files } = makeStore(t);
    await assert.rejects(store.put(key, chunks(Buffer.from('x')), MAX), TypeError);
    await assert.rejects(store.get(key), TypeError);
    await assert.rejects(store.remove(key), TypeError);
    await assert.rejects(store.exists(key), TypeError);
    assert.deepEqual(files(), []);
  });
}

test('keys that differ in case, or of which one is the folder of the other, are different blobs', async (t) => {
  const { store } = makeStore(t);
  for (const key of ['a', 'A', 'a/b', 'a/B']) await store.put(key, chunks(Buffer.from(key)), MAX);
  for (const key of ['a', 'A', 'a/b', 'a/B']) {
    assert.equal((await buffer((await store.get(key)).stream)).toString(), key);
  }
});

test('of two uploads to one key the last whole one stays', async (t) => {
  const { store, files } = makeStore(t);
  const contents = [1, 2, 3, 4].map((value) => Buffer.alloc(200_000, value));
  await Promise.all(contents.map((content) => store.put('raced', chunks(content), MAX)));
  const found = await buffer((await store.get('raced')).stream);
  assert.ok(contents.some((content) => content.equals(found)));
  assert.equal(files().length, 1);
});

test('what broken uploads have left is removed once it is older, and what is being written stays', async (t) => {
  const { store, root, files } = makeStore(t);
  assert.equal(await store.removeStaleUploads(new Date()), 0);
  await store.put('one', chunks(Buffer.from('x')), MAX);
  writeFileSync(join(root, 'uploads', 'stale'), 'x');
  writeFileSync(join(root, 'uploads', 'fresh'), 'x');
  setAge(join(root, 'uploads', 'stale'), 61);
  assert.equal(await store.removeStaleUploads(minutesAgo(60)), 1);
  assert.deepEqual(
    files().filter((path) => path.startsWith('uploads')),
    [join('uploads', 'fresh')],
  );
});

test('blobs are listed by the digests of their keys, younger ones and foreign files left out, and removed by them', async (t) => {
  const { store, root, files } = makeStore(t);
  assert.deepEqual(await collect(store.listDigests(new Date())), []);
  const keys = Array.from({ length: 40 }, (_, index) => `proj_1/file_${index}`);
  for (const key of keys) await store.put(key, chunks(Buffer.from(key)), MAX);
  for (const path of files()) setAge(join(root, path), 61);
  await store.put('proj_1/young', chunks(Buffer.from('x')), MAX);
  writeFileSync(join(root, 'notes.txt'), 'x');
  setAge(join(root, 'notes.txt'), 61);
  const listed = await collect(store.listDigests(minutesAgo(60)));
  assert.deepEqual(listed.sort(), keys.map(digestOfKey).sort());
  for (const digest of listed.slice(0, 10)) await store.removeByDigest(digest);
  await store.removeByDigest(listed[0] ?? '');
  const left = await collect(store.listDigests(minutesAgo(60)));
  assert.deepEqual(left.sort(), listed.slice(10));
  await assert.rejects(store.removeByDigest('../../etc/passwd'), TypeError);
});

test('a disk that is full in the middle of an upload keeps nothing of it', {
  skip: process.platform === 'win32',
}, (t) => {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-blobs-'));
  t.after(() => rmSync(root, { recursive: true }));
  // The system refuses to let a file of this process grow beyond 64 blocks of 1,024 bytes: as on a full disk, a write fails.
  const { status, stdout, stderr } = spawnSync(
    'bash',
    [
      '-c',
      `trap '' XFSZ; ulimit -f 64; exec "$0" --input-type=module -e "$1" "$2" "$3"`,
      process.execPath,
      FILL,
      MODULE,
      root,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { name: 'BlobStoreUnavailableError', code: 'EFBIG', small: 5, files: 1 });
});

const MODULE = new URL('./folder-blob-store.ts', import.meta.url).href;
const FILL = `
  import { readdirSync, statSync } from 'node:fs';
  const { createFolderBlobStore } = await import(process.argv[1]);
  const root = process.argv[2];
  const store = createFolderBlobStore(root);
  async function* bytes(count, size) { for (let at = 0; at < count; at += 1) yield Buffer.alloc(size); }
  const refusal = await store.put('large', bytes(20, 10_000), { maxBytes: 1e9 }).catch((error) => error);
  const { bytes: small } = await store.put('small', bytes(1, 5), { maxBytes: 1e9 });
  const files = readdirSync(root, { recursive: true }).filter((path) => statSync(root + '/' + path).isFile()).length;
  console.log(JSON.stringify({ name: refusal.name, code: refusal.cause.code, small, files }));
`;

async function collect(digests: AsyncIterable<string>): Promise<string[]> {
  const listed: string[] = [];
  for await (const digest of digests) listed.push(digest);
  return listed;
}

function minutesAgo(minutes: number): Date {
  return new Date(Date.now() - minutes * 60_000);
}

function setAge(path: string, minutes: number): void {
  utimesSync(path, minutesAgo(minutes), minutesAgo(minutes));
}
