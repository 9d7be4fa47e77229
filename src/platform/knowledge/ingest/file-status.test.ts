import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { TenantDatabase, type TenantTransaction } from '../../store/tenant-db.ts';
import type { VectorStoreFileStatus } from '../../tables.ts';
import {
  addFiles,
  cancelBatchFiles,
  completeFile,
  failFile,
  type HeldStore,
  holdStore,
  listAttached,
  removeFiles,
} from './file-status.ts';

const FILES = ['file_a', 'file_b', 'file_c', 'file_d', 'file_e'];
const file = fc.constantFrom(...FILES);

/** What the store is asked for; each step is taken as it comes, whether it fits the file's status or not. */
type Step =
  | { readonly kind: 'add'; readonly files: readonly string[]; readonly batchId: string | null }
  | { readonly kind: 'complete' | 'completeOld' | 'fail' | 'remove'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'cancel'; readonly batchId: string };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    files: fc.uniqueArray(file, { minLength: 1 }),
    batchId: fc.constantFrom(null, 'vsfb_1', 'vsfb_2'),
  }),
  fc.record({
    kind: fc.constantFrom('complete' as const, 'completeOld' as const, 'fail' as const, 'remove' as const),
    file,
    bytes: fc.nat(10_000),
  }),
  fc.record({ kind: fc.constant('cancel' as const), batchId: fc.constantFrom('vsfb_1', 'vsfb_2') }),
);

interface Model {
  status: VectorStoreFileStatus;
  batchId: string | null;
  bytes: number;
}

describeOnEachStore('the status of files in a store', {}, (current) => {
  test('counters and chunks agree with the rows after any sequence of changes, and the rows with the rules', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { db } = current();
        const { projectId, storeId } = await createStore(db);
        const model = new Map<string, Model>();
        for (const each of steps) {
          await change(db, projectId, storeId, (tx, store) => take(tx, store, model, each));
          await assertConsistent(db, projectId, storeId);
        }
        const rows = await readRows(db, projectId, storeId);
        assert.deepEqual(
          rows.map(({ file_id, status, batch_id, usage_bytes }) => [file_id, status, batch_id, usage_bytes]).sort(),
          [...model].map(([id, { status, batchId, bytes }]) => [id, status, batchId, bytes]).sort(),
        );
      }),
      { numRuns: 25 },
    );
  });

  test('changes of one store from many sides at once leave the counters right', async () => {
    const { db } = current();
    const { projectId, storeId } = await createStore(db);
    const names = Array.from({ length: 12 }, (_, at) => `file_${at}`);
    await change(db, projectId, storeId, (tx, store) =>
      addFiles(tx, store, names.map(newFile), { batchId: 'vsfb_1', actor: null }),
    );
    const rows = await readRows(db, projectId, storeId);
    await Promise.all([
      ...rows
        .slice(0, 8)
        .map((row) =>
          change(db, projectId, storeId, (tx, store) =>
            completeFile(tx, store, { fileId: row.file_id, position: row.position }, { chunkCount: 1, usageBytes: 7 }),
          ),
        ),
      change(db, projectId, storeId, (tx, store) => cancelBatchFiles(tx, store, 'vsfb_1')),
      change(db, projectId, storeId, (tx, store) => removeFiles(tx, store, names.slice(4, 10))),
      change(db, projectId, storeId, (tx, store) =>
        failFile(tx, store, { fileId: 'file_11' }, { code: 'invalid_file', message: 'Gone.' }),
      ),
    ]);
    await assertConsistent(db, projectId, storeId);
    const left = await readRows(db, projectId, storeId);
    assert.equal(left.length, 6);
    assert.ok(left.every(({ status }) => status !== 'in_progress'));
  });

  test('a deleted store is held by nobody', async () => {
    const { db } = current();
    const { projectId, storeId } = await createStore(db);
    await db.query({ text: 'update vector_stores set deleted_at = now() where id = $1', values: [storeId] });
    assert.equal(await holdStore(new TenantDatabase(db, projectId), storeId), undefined);
  });
});

/** Takes the step in the database, and the same in the model by the rules that the module's head draws. */
async function take(tx: TenantTransaction, store: HeldStore, model: Map<string, Model>, step: Step): Promise<void> {
  switch (step.kind) {
    case 'add': {
      const attached = await listAttached(tx, store, step.files);
      const held = step.files.filter((id) => ['in_progress', 'completed'].includes(model.get(id)?.status ?? ''));
      assert.deepEqual([...attached].sort(), [...held].sort());
      const free = step.files.filter((id) => !attached.includes(id));
      await addFiles(tx, store, free.map(newFile), { batchId: step.batchId, actor: null });
      for (const id of free) model.set(id, { status: 'in_progress', batchId: step.batchId, bytes: 0 });
      await insertChunks(tx, store, free);
      return;
    }
    case 'cancel': {
      const hit = [...model.values()].filter((row) => row.batchId === step.batchId && row.status === 'in_progress');
      assert.equal(await cancelBatchFiles(tx, store, step.batchId), hit.length);
      for (const row of hit) row.status = 'cancelled';
      return;
    }
    case 'remove':
      assert.equal(await removeFiles(tx, store, [step.file]), model.delete(step.file) ? 1 : 0);
      return;
    case 'fail':
      assert.equal(
        await failFile(tx, store, { fileId: step.file }, { code: 'no_text_layer', message: 'No text.' }),
        advance(model.get(step.file), 'failed', 0),
      );
      return;
    case 'complete':
    case 'completeOld': {
      const position = (await positionOf(tx, store, step.file)) - (step.kind === 'completeOld' ? 1 : 0);
      const done = await completeFile(
        tx,
        store,
        { fileId: step.file, position },
        { chunkCount: 2, usageBytes: step.bytes },
      );
      assert.equal(done, step.kind === 'complete' && advance(model.get(step.file), 'completed', step.bytes));
      return;
    }
  }
}

function advance(row: Model | undefined, status: VectorStoreFileStatus, bytes: number): boolean {
  if (row?.status !== 'in_progress') return false;
  Object.assign(row, { status, bytes });
  return true;
}

async function assertConsistent(db: Database, projectId: string, storeId: string): Promise<void> {
  const { rows } = await db.query<Record<string, unknown>>({
    text: `
      select s.files_in_progress, s.files_completed, s.files_failed, s.files_cancelled, s.usage_bytes,
        count(f.file_id) filter (where f.status = 'in_progress') as in_progress,
        count(f.file_id) filter (where f.status = 'completed') as completed,
        count(f.file_id) filter (where f.status = 'failed') as failed,
        count(f.file_id) filter (where f.status = 'cancelled') as cancelled,
        coalesce(sum(f.usage_bytes), 0)::bigint as bytes,
        (select count(*) from vector_store_chunks c where c.project_id = $1 and c.vector_store_id = $2
           and not exists (select from vector_store_files o where o.project_id = $1 and o.vector_store_id = $2
             and o.file_id = c.file_id and o.status in ('in_progress', 'completed'))) as orphans
      from vector_stores s
      left join vector_store_files f on f.project_id = s.project_id and f.vector_store_id = s.id
      where s.project_id = $1 and s.id = $2
      group by s.project_id, s.id`,
    values: [projectId, storeId],
  });
  const row = rows[0] ?? {};
  assert.deepEqual(
    [row.files_in_progress, row.files_completed, row.files_failed, row.files_cancelled, row.usage_bytes],
    [row.in_progress, row.completed, row.failed, row.cancelled, row.bytes],
  );
  assert.equal(row.orphans, 0, 'no chunk is left of a file that ended unfinished');
}

function newFile(fileId: string) {
  return { fileId, attributes: null, chunkTokens: 800, overlapTokens: 400 };
}

async function change<T>(
  db: Database,
  projectId: string,
  storeId: string,
  work: (tx: TenantTransaction, store: HeldStore) => Promise<T>,
): Promise<T> {
  return new TenantDatabase(db, projectId).transaction(async (tx) => {
    const store = await holdStore(tx, storeId);
    assert.ok(store);
    return work(tx, store);
  });
}

async function insertChunks(tx: TenantTransaction, store: HeldStore, fileIds: readonly string[]): Promise<void> {
  await tx.raw({
    text: `
      insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
      select $1, $2, file_id, position, 'text', 1, '[1]' from unnest($3::text[]) file_id, generate_series(0, 1) position`,
    values: [store.id, fileIds],
  });
}

async function positionOf(tx: TenantTransaction, store: HeldStore, fileId: string): Promise<number> {
  const { rows } = await tx.raw<{ position: number }>({
    text: 'select position from vector_store_files where project_id = $1 and vector_store_id = $2 and file_id = $3',
    values: [store.id, fileId],
  });
  return rows[0]?.position ?? 0;
}

async function readRows(db: Database, projectId: string, storeId: string) {
  const { rows } = await db.query<{
    file_id: string;
    position: number;
    status: string;
    batch_id: string | null;
    usage_bytes: number;
  }>({
    text: `select file_id, position, status, batch_id, usage_bytes from vector_store_files
           where project_id = $1 and vector_store_id = $2 order by position`,
    values: [projectId, storeId],
  });
  return rows;
}

async function createStore(db: Database): Promise<{ projectId: string; storeId: string }> {
  const [organizationId, projectId, storeId] = [mintId('org'), mintId('proj'), mintId('vs')];
  await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
  await db.query({
    text: 'insert into projects (id, organization_id, name) values ($1, $2, $1)',
    values: [projectId, organizationId],
  });
  await db.query({
    text: `insert into vector_stores (project_id, id, embedding_model, chunk_tokens, overlap_tokens)
           values ($1, $2, 'builtin/embed', 800, 400)`,
    values: [projectId, storeId],
  });
  return { projectId, storeId };
}
