import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import type { BlobStore } from '../../kernel/blobs/blobs.ts';
import { createFolderBlobStore } from '../../kernel/blobs/folder-blob-store.ts';
import type { Database } from '../../kernel/db/database.ts';
import { createOrganization, createProject } from '../resources/projects/provision-project.ts';
import { OWNER_KEY, sweepOrphanedBlobs } from './sweep-orphaned-blobs.ts';

const NEVER = new AbortController().signal;
const logger = openTestLogger();

describeOnEachStore('the sweep of orphaned blobs', {}, (current) => {
  test('removes what neither a file nor a note stands for, however much, once it is an hour old', async (t) => {
    const { db } = current();
    const { blobs, root } = makeBlobs(t);
    const project = await addProject(db);
    const orphans = Array.from({ length: 1_100 }, (_, index) => `${project}/orphan_${index}`);
    const kept = [`${project}/file_1`, `${project}/noted`, `${project}/young`];
    for (const key of [...orphans, ...kept]) await blobs.put(key, bytes(), { maxBytes: 10 });
    await addFile(db, project, 'file_1');
    await addNote(db, project, `${project}/noted`);
    ageAll(root, 61);
    await blobs.put(`${project}/young`, bytes(), { maxBytes: 10 });
    await sweepOrphanedBlobs({ db, blobs, logger }, NEVER);
    for (const key of kept) assert.equal(await blobs.exists(key), true, key);
    // The kept ones, and the name of the database.
    assert.equal(listFiles(root).length, kept.length + 1);
    ageAll(root, 61);
    await sweepOrphanedBlobs({ db, blobs, logger }, NEVER);
    assert.equal(await blobs.exists(`${project}/young`), false);
    assert.equal(listFiles(root).length, kept.length);
    assert.equal(await blobs.exists(OWNER_KEY), true);
  });

  test('removes uploads that broke off an hour ago', async (t) => {
    const { db } = current();
    const { blobs, root } = makeBlobs(t);
    await blobs.put('one', bytes(), { maxBytes: 10 });
    for (const name of ['stale', 'fresh']) writeFileSync(join(root, 'uploads', name), 'x');
    setAge(join(root, 'uploads', 'stale'), 61);
    setAge(join(root, 'uploads', 'fresh'), 59);
    await sweepOrphanedBlobs({ db, blobs, logger }, NEVER);
    assert.deepEqual(readdirSync(join(root, 'uploads')), ['fresh']);
  });

  test('never takes the blob of an upload that is just being committed', async (t) => {
    const { db } = current();
    const { blobs, root } = makeBlobs(t);
    const project = await addProject(db);
    const keys = Array.from({ length: 60 }, (_, index) => `file_${index}`);
    for (const id of keys) {
      await addNote(db, project, `${project}/${id}`);
      await blobs.put(`${project}/${id}`, bytes(), { maxBytes: 10 });
    }
    ageAll(root, 61);
    let isDone = false;
    const claimAll = async () => {
      for (const id of keys) {
        await db.transaction(async (tx) => {
          await tx.query({ text: 'delete from unclaimed_blobs where blob_key = $1', values: [`${project}/${id}`] });
          await addFile(tx, project, id);
        });
      }
      isDone = true;
    };
    const sweepOn = async () => {
      while (!isDone) await sweepOrphanedBlobs({ db, blobs, logger }, NEVER);
    };
    await Promise.all([claimAll(), sweepOn()]);
    for (const id of keys) assert.equal(await blobs.exists(`${project}/${id}`), true, id);
  });

  test('removes nothing from a store that belongs to another database', async (t) => {
    const { db } = current();
    const { blobs, root } = makeBlobs(t);
    await blobs.put('somebody/file_1', bytes(), { maxBytes: 10 });
    await blobs.put(OWNER_KEY, bytes('store_another'), { maxBytes: 100 });
    ageAll(root, 61);
    await sweepOrphanedBlobs({ db, blobs, logger }, NEVER);
    assert.equal(await blobs.exists('somebody/file_1'), true);
  });
});

function makeBlobs(t: { after(work: () => void): void }): { blobs: BlobStore; root: string } {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-orphans-'));
  t.after(() => rmSync(root, { recursive: true }));
  return { blobs: createFolderBlobStore(root), root };
}

function listFiles(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => join(root, path))
    .filter((path) => statSync(path).isFile());
}

function ageAll(root: string, minutes: number): void {
  for (const path of listFiles(root)) setAge(path, minutes);
}

function setAge(path: string, minutes: number): void {
  const time = new Date(Date.now() - minutes * 60_000);
  utimesSync(path, time, time);
}

async function addProject(db: Database): Promise<string> {
  return db.transaction(async (tx) => {
    const { id } = await createOrganization(tx, { name: 'Sweep' });
    const { project } = await createProject(tx, { organizationId: id, name: `Sweep ${id}` });
    return project.id;
  });
}

async function addFile(db: Pick<Database, 'query'>, project: string, id: string): Promise<void> {
  await db.query({
    text: `insert into files (project_id, id, filename, media_type, purpose, bytes, sha256)
           values ($1, $2, 'a', 'text/plain', 'user_data', 1, '')`,
    values: [project, id],
  });
}

async function addNote(db: Database, project: string, key: string): Promise<void> {
  await db.query({
    text: `insert into unclaimed_blobs (project_id, blob_key, removable_at) values ($1, $2, now() + interval '1 hour')`,
    values: [project, key],
  });
}

async function* bytes(text = 'x'): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
