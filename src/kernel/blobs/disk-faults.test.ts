/** The file store on a disk that is full or read-only: a small one of the test's own, where the machine lets it be mounted. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { startPlatform } from '../../../test/support/platform.ts';
import { BlobStoreUnavailableError } from './blobs.ts';
import { describeFileError } from './disk-faults.ts';
import { createFolderBlobStore } from './folder-blob-store.ts';

const MAX = { maxBytes: 10_000_000 };
const DISK = 'size=256k';

/** A file system of 256 KiB; undefined where this user may mount none. */
function mountDisk(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'ironcraft-disk-'));
  const run = (...words: string[]) => spawnSync(words[0] ?? '', words.slice(1)).status === 0;
  const isMounted = run('mount', '-t', 'tmpfs', '-o', DISK, 'tmpfs', folder);
  t.after(() => {
    if (isMounted) run('umount', folder);
    rmSync(folder, { recursive: true });
  });
  if (!isMounted) return undefined;
  const remount = (options: string) => assert.ok(run('mount', '-o', `remount,${options}`, folder), options);
  const listFiles = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile());
  return { folder, remount, listFiles };
}

const bytes = (size: number) => Readable.from([Buffer.alloc(size, 1)]);

test('a full disk takes nothing, says so, and takes what comes once there is room', async (t) => {
  const disk = mountDisk(t);
  if (disk === undefined) return t.skip('this user may mount no file system');
  const store = createFolderBlobStore(disk.folder);
  await store.put('kept', bytes(1_000), MAX);
  await store.check();
  await assert.rejects(store.put('large', bytes(400_000), MAX), BlobStoreUnavailableError);
  assert.equal(disk.listFiles().length, 1, 'nothing of it is left');
  writeFileSync(join(disk.folder, 'ballast'), Buffer.alloc(240_000));
  await assert.rejects(async () => {
    for (let number = 0; ; number += 1) await store.put(`more-${number}`, bytes(8_192), MAX);
  }, BlobStoreUnavailableError);
  await assert.rejects(store.check(), BlobStoreUnavailableError);
  assert.equal((await buffer((await store.get('kept')).stream)).length, 1_000, 'what is there can be read');
  rmSync(join(disk.folder, 'ballast'));
  await store.check();
  await store.put('large', bytes(100_000), MAX);
});

test('a read-only disk is read and not written', async (t) => {
  const disk = mountDisk(t);
  if (disk === undefined) return t.skip('this user may mount no file system');
  const store = createFolderBlobStore(disk.folder);
  await store.put('kept', bytes(1_000), MAX);
  disk.remount('ro');
  const writes = [() => store.put('more', bytes(10), MAX), () => store.remove('kept'), () => store.check()];
  for (const write of writes) {
    await assert.rejects(write(), BlobStoreUnavailableError);
  }
  assert.equal((await buffer((await store.get('kept')).stream)).length, 1_000);
  disk.remount('rw');
  await store.check();
  await store.put('more', bytes(10), MAX);
});

test('an upload to a full disk is told so, leaves nothing, and succeeds later', async (t) => {
  const disk = mountDisk(t);
  if (disk === undefined) return t.skip('this user may mount no file system');
  const shared = await startPlatform();
  const blobs = createFolderBlobStore(disk.folder);
  const platform = await startPlatform({ sharing: { db: shared.db, vault: shared.vault, blobs } });
  t.after(async () => {
    await platform.close();
    await shared.close();
  });
  const project = await platform.createProject();
  const upload = (size: number) => {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new Blob([new Uint8Array(size)]), 'bytes.txt');
    return project.post('/v1/files', form);
  };
  const refused = await upload(400_000);
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'storage_unavailable'], refused.text);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.doesNotMatch(refused.text, /ENOSPC|ironcraft-disk/);
  assert.deepEqual(disk.listFiles(), []);
  assert.deepEqual((await project.get('/v1/files')).body.data, []);
  disk.remount('ro');
  assert.equal((await upload(10)).status, 503);
  disk.remount('rw,size=2m');
  const stored = await upload(400_000);
  assert.equal(stored.status, 200, stored.text);
});

for (const [code, isFault] of Object.entries({
  EIO: true,
  EACCES: true,
  EROFS: true,
  EDQUOT: true,
  ECONNRESET: false,
})) {
  test(`${code} is ${isFault ? 'a fault of the disk' : 'none of the disk'}`, () => {
    const error = Object.assign(new Error(code), { code, syscall: 'read' });
    assert.equal(describeFileError(error) instanceof BlobStoreUnavailableError, isFault);
  });
}
