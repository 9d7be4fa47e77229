import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { createOrganization, createProject } from '../projects/provision-project.ts';
import { removeFileFromStores } from './remove-file.ts';

const STATUSES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

describeOnEachStore('a file that is deleted', {}, (current) => {
  test('leaves its stores with what was indexed of it, and fails where it still was', async () => {
    const { db } = current();
    const [projectId, abroad] = [await addProject(db), await addProject(db)];
    for (const project of [projectId, abroad]) {
      for (const status of STATUSES) await addStore(db, project, `vs_${status}`, status);
    }
    const before = await snapshot(db, abroad);
    await new TenantDatabase(db, projectId).transaction((tx) => removeFileFromStores(tx, 'file_1'));

    const { stores, files, chunks, events } = await snapshot(db, projectId);
    assert.deepEqual(stores, [
      { id: 'vs_cancelled', counts: [0, 1, 0, 0], usage_bytes: 7 },
      { id: 'vs_completed', counts: [0, 1, 0, 0], usage_bytes: 7 },
      { id: 'vs_failed', counts: [0, 1, 0, 0], usage_bytes: 7 },
      { id: 'vs_in_progress', counts: [0, 1, 1, 0], usage_bytes: 7 },
    ]);
    const failed = {
      vector_store_id: 'vs_in_progress',
      file_id: 'file_1',
      status: 'failed',
      error_code: 'invalid_file',
    };
    assert.deepEqual(
      files.filter(({ file_id }) => file_id === 'file_1'),
      [failed],
    );
    assert.equal(files.length, 1 + STATUSES.length);
    assert.ok(chunks.length === STATUSES.length && chunks.every(({ file_id }) => file_id === 'file_2'));
    assert.deepEqual(events, [
      {
        vector_store_id: 'vs_in_progress',
        file_id: 'file_1',
        code: 'invalid_file',
        message: 'The file was deleted before it was indexed.',
      },
    ]);
    assert.deepEqual(await snapshot(db, abroad), before);
  });

  test('that is in no store changes nothing', async () => {
    const { db } = current();
    const projectId = await addProject(db);
    await addStore(db, projectId, 'vs_1', 'completed');
    const before = await snapshot(db, projectId);
    await new TenantDatabase(db, projectId).transaction((tx) => removeFileFromStores(tx, 'file_9'));
    assert.deepEqual(await snapshot(db, projectId), before);
  });
});

async function addProject(db: Database): Promise<string> {
  return db.transaction(async (tx) => {
    const { id: organizationId } = await createOrganization(tx, { name: mintId('org') });
    return (await createProject(tx, { organizationId, name: mintId('name') })).project.id;
  });
}

/** A store with two files of a chunk each: `file_1` in this state, `file_2` completed. */
async function addStore(db: Database, projectId: string, id: string, status: string): Promise<void> {
  await db.query({
    text: `
      insert into vector_stores (project_id, id, embedding_model, chunk_tokens, overlap_tokens, usage_bytes,
        files_in_progress, files_completed, files_failed, files_cancelled)
      select $1, $2, 'm', 800, 400, 7 + case when $3 = 'completed' then 5 else 0 end,
        ($3 = 'in_progress')::int, 1 + ($3 = 'completed')::int, ($3 = 'failed')::int, ($3 = 'cancelled')::int`,
    values: [projectId, id, status],
  });
  for (const [fileId, state, usage] of [
    ['file_1', status, status === 'completed' ? 5 : 0],
    ['file_2', 'completed', 7],
  ]) {
    await db.query({
      text: `
        insert into vector_store_files (project_id, vector_store_id, file_id, status, chunk_tokens, overlap_tokens, usage_bytes)
        values ($1, $2, $3, $4, 800, 400, $5)`,
      values: [projectId, id, fileId, state, usage],
    });
    await db.query({
      text: `
        insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
        values ($1, $2, $3, 0, 'words', 1, '[0.5]')`,
      values: [projectId, id, fileId],
    });
  }
}

async function snapshot(db: Database, projectId: string) {
  const rowsOf = async <Row>(text: string) => (await db.query<Row>({ text, values: [projectId] })).rows;
  const stores = await rowsOf<{ id: string; counts: number[]; usage_bytes: number }>(
    `select id, array[files_in_progress, files_completed, files_failed, files_cancelled] as counts, usage_bytes
     from vector_stores where project_id = $1 order by id`,
  );
  const files = await rowsOf<{ vector_store_id: string; file_id: string; status: string; error_code: string | null }>(
    `select vector_store_id, file_id, status, error_code from vector_store_files where project_id = $1 order by 1, 2`,
  );
  const chunks = await rowsOf<{ file_id: string }>(
    `select file_id from vector_store_chunks where project_id = $1 order by vector_store_id, file_id`,
  );
  const events = await rowsOf<{ data: object }>(
    `select data from events where project_id = $1 and type like 'vector_store.%' order by id`,
  );
  return { stores, files, chunks, events: events.map(({ data }) => data) };
}
