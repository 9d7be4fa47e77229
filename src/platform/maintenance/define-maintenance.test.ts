import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { sweepIdempotencyKeys } from './define-maintenance.ts';

let store: TestDatabase;
before(async () => {
  store = await openTestDatabase();
});
after(() => store.close());

test('the sweep removes answers past their time, however many, and keeps the others', async () => {
  await store.db.query({
    text: `
      insert into idempotency_keys (project_id, operation, key, fingerprint, expires_at)
      select 'proj_a', 'agents.create', 'key-' || n, 'f', now() + case when n <= 12000 then -1 else 1 end * interval '1 hour'
      from generate_series(1, $1::int) as n`,
    values: [12_003],
  });
  await sweepIdempotencyKeys(store.db, new AbortController().signal);
  const { rows } = await store.db.query<{ left: number }>({
    text: 'select count(*)::int as left from idempotency_keys where $1',
    values: [true],
  });
  assert.equal(rows[0]?.left, 3);
});
