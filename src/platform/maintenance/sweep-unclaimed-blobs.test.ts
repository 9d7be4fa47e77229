import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import type { BlobStore } from '../../kernel/blobs/blobs.ts';
import { createFolderBlobStore } from '../../kernel/blobs/folder-blob-store.ts';
import type { Database } from '../../kernel/db/database.ts';
import { sweepUnclaimedBlobs } from './sweep-unclaimed-blobs.ts';

const NEVER = new AbortController().signal;

describeOnEachStore('the sweep of unclaimed blobs', {}, (current) => {
  test('removes those whose time is over, however many, and keeps the others', async (t) => {
    const { db } = current();
    const blobs = makeBlobs(t);
    await addBlobs(db, blobs, 'proj_a', 230, '-1 second');
    await addBlobs(db, blobs, 'proj_b', 3, '1 hour');
    await sweepUnclaimedBlobs({ db, blobs }, NEVER);
    assert.deepEqual(await listKeys(db), ['proj_b/file_1', 'proj_b/file_2', 'proj_b/file_3']);
    for (const number of [1, 100, 230]) assert.equal(await blobs.exists(`proj_a/file_${number}`), false);
    for (const number of [1, 2, 3]) assert.equal(await blobs.exists(`proj_b/file_${number}`), true);
    await forgetAll(db);
  });

  test('goes on past a blob that cannot be removed, which a later one tries again', async (t) => {
    const { db } = current();
    const blobs = makeBlobs(t);
    await addBlobs(db, blobs, 'proj_c', 3, '-1 second');
    const stubborn: BlobStore = {
      ...blobs,
      remove: (key) => (key === 'proj_c/file_2' ? Promise.reject(new Error('disk')) : blobs.remove(key)),
    };
    await sweepUnclaimedBlobs({ db, blobs: stubborn }, NEVER);
    assert.deepEqual(await listKeys(db), ['proj_c/file_2']);
    await assert.rejects(sweepUnclaimedBlobs({ db, blobs: stubborn }, NEVER), /disk/);
    await sweepUnclaimedBlobs({ db, blobs }, NEVER);
    assert.deepEqual(await listKeys(db), []);
    assert.equal(await blobs.exists('proj_c/file_2'), false);
  });
});

function makeBlobs(t: { after(work: () => void): void }): BlobStore {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-sweep-'));
  t.after(() => rmSync(root, { recursive: true }));
  return createFolderBlobStore(root);
}

async function addBlobs(db: Database, blobs: BlobStore, project: string, count: number, when: string): Promise<void> {
  await db.query({
    text: `
      insert into unclaimed_blobs (project_id, blob_key, removable_at)
      select $1, $1 || '/file_' || n, now() + $2::interval from generate_series(1, $3::int) as n`,
    values: [project, when, count],
  });
  for (const number of [1, 2, 3, 100, 230]) {
    if (number <= count) await blobs.put(`${project}/file_${number}`, bytes(), { maxBytes: 10 });
  }
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('x');
}

async function listKeys(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ blob_key: string }>({
    text: 'select blob_key from unclaimed_blobs where $1 order by blob_key',
    values: [true],
  });
  return rows.map((row) => row.blob_key);
}

async function forgetAll(db: Database): Promise<void> {
  await db.query({ text: 'delete from unclaimed_blobs where $1', values: [true] });
}
