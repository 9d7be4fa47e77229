import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import { createFolderBlobStore } from '../../../kernel/blobs/folder-blob-store.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { claimBlobs, discardBlob, keepBlob, releaseBlob } from './keep-blob.ts';

const PROJECT = 'proj_1';
const KEY = `${PROJECT}/file_1`;

describeOnEachStore('a blob', {}, (current) => {
  test('that is kept waits for its row, and with its row is accounted for no more', async (t) => {
    const parts = { db: current().db, blobs: makeBlobs(t) };
    await keepBlob(parts, PROJECT, KEY, bytes('hello'), 100);
    assert.equal(await countNoted(parts.db), 1);
    await new TenantDatabase(parts.db, PROJECT).transaction((tx) => claimBlobs(tx, [KEY]));
    assert.equal(await countNoted(parts.db), 0);
    await new TenantDatabase(parts.db, PROJECT).transaction((tx) => releaseBlob(tx, KEY));
    assert.equal(await countNoted(parts.db), 1);
    await discardBlob(parts, PROJECT, KEY);
    assert.deepEqual([await countNoted(parts.db), await parts.blobs.exists(KEY)], [0, false]);
  });

  test('that cannot be stored whole leaves nothing, and says why', async (t) => {
    const { db } = current();
    const blobs = makeBlobs(t);
    const full: BlobStore = { ...blobs, put: () => Promise.reject(new Error('ENOSPC')) };
    const refused = new ApiError('invalid_request');
    const cases = [
      [full, bytes('hello'), 'storage_unavailable'],
      [blobs, bytes('far too large'), 'payload_too_large'],
      [blobs, bytes('then', refused), 'invalid_request'],
      [blobs, bytes('then', new Error('broken off')), 'storage_unavailable'],
    ] as const;
    for (const [store, source, code] of cases) {
      await assert.rejects(keepBlob({ db, blobs: store }, PROJECT, KEY, source, 8), { code });
      assert.deepEqual([await countNoted(db), await blobs.exists(KEY)], [0, false]);
    }
  });

  test('whose time is over is claimed no more: it may be gone any moment', async (t) => {
    const parts = { db: current().db, blobs: makeBlobs(t) };
    await keepBlob(parts, PROJECT, KEY, bytes('late'), 100);
    await parts.db.query({
      text: 'update unclaimed_blobs set removable_at = now() where project_id = $1',
      values: [PROJECT],
    });
    await assert.rejects(
      new TenantDatabase(parts.db, PROJECT).transaction((tx) => claimBlobs(tx, [KEY])),
      { code: 'storage_unavailable' },
    );
    await discardBlob(parts, PROJECT, KEY);
  });
});

function makeBlobs(t: TestContext): BlobStore {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-keep-'));
  t.after(() => rmSync(root, { recursive: true }));
  return createFolderBlobStore(root);
}

async function* bytes(...parts: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield Buffer.from(part);
  }
}

async function countNoted(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: 'select count(*) as count from unclaimed_blobs where project_id = $1',
    values: [PROJECT],
  });
  return rows[0]?.count ?? -1;
}
