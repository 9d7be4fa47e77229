import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { createVault } from '../kernel/vault/vault.ts';
import { modelKeyContext } from '../platform/models/index.ts';
import { passingColumns, resealColumn, sealedColumns } from './sealed-columns.ts';

let store: TestDatabase;
before(async () => {
  store = await openTestDatabase();
});
after(() => store.close());

test('every sealed column of the schema is sealed again, or passes by itself', async () => {
  const { rows } = await store.db.query<{ name: string }>({
    text: `select case table_schema when current_schema() then '' else table_schema || '.' end
             || table_name || '.' || column_name as name
           from information_schema.columns
           where table_schema in (current_schema(), 'domains') and column_name like 'sealed\\_%'`,
    values: [],
  });
  const known = [...sealedColumns, ...passingColumns].map(({ table, column }) => `${table}.${column}`);
  assert.deepEqual(rows.map(({ name }) => name).sort(), known.sort());
});

test('hundreds of values move to the new key, what it cannot read stays, and nothing is sealed twice', async () => {
  const { db } = store;
  const [lost, old, next] = [newKey(), newKey(), newKey()];
  await db.query({ text: `insert into organizations (id, name) values ('org_1', 'one')`, values: [] });
  await db.query({ text: `insert into projects (id, organization_id, name) values ('p', 'org_1', 'p')`, values: [] });
  const insert = (smith: string, key: typeof old, text: string) =>
    db.query({
      text: `insert into model_keys (project_id, smith_id, provider, sealed_api_key) values ('p', $1, 'openai', $2)`,
      values: [smith, createVault([key]).seal(text, modelKeyContext('p', smith, 'openai'))],
    });
  for (let n = 0; n < 450; n += 1) await insert(`smt_${n}`, old, `key ${n}`);
  await insert('', lost, 'nobody knows');
  await insert('smt_new', next, 'new already');

  const column = sealedColumns.find(({ table }) => table === 'model_keys');
  assert.ok(column !== undefined);
  const vault = createVault([next, old]);
  assert.deepEqual(await resealColumn(db, vault, column), { sealed: 450, unreadable: 1 });
  assert.deepEqual(await resealColumn(db, vault, column), { sealed: 0, unreadable: 1 });

  const { rows } = await db.query<{ smith_id: string; sealed_api_key: string }>({
    text: `select smith_id, sealed_api_key from model_keys where smith_id <> ''`,
    values: [],
  });
  const alone = createVault([next]);
  for (const { smith_id, sealed_api_key } of rows) {
    const text = alone.open(sealed_api_key, modelKeyContext('p', smith_id, 'openai'));
    assert.equal(text, smith_id === 'smt_new' ? 'new already' : smith_id.replace('smt_', 'key '));
  }
});

function newKey() {
  return createSecretKey(randomBytes(32));
}
