import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { describeOnEachStore, setUpSchemas, testServerUrl } from './database.ts';
import { holdEngine } from './embedded-engine.ts';

const HOUR_MS = 3_600_000;
const clocks = ['now()', 'transaction_timestamp()', 'statement_timestamp()', 'clock_timestamp()', 'jobs.job_now()'];

describeOnEachStore('the time of a test’s database', {}, (current) => {
  test('each function of the time is shifted, forth and back', async () => {
    const { db, shiftTime } = current();
    for (const shiftMs of [HOUR_MS, -HOUR_MS, 0]) {
      await shiftTime(shiftMs);
      assert.deepEqual(
        await readShifts(db),
        clocks.map(() => shiftMs / HOUR_MS),
      );
    }
  });

  test('a column default, a comparison and arithmetic with intervals follow the shift', async () => {
    const { db, shiftTime } = current();
    await shiftTime(0);
    await db.query({
      text: 'create table public.leases (id text primary key, expires_at timestamptz not null default now())',
    });
    await db.query({ text: `insert into leases (id, expires_at) values ('held', now() + interval '30 minutes')` });
    const expired = { text: 'select id from leases where expires_at < now() order by id' };
    assert.deepEqual((await db.query(expired)).rows, []);
    await shiftTime(HOUR_MS);
    assert.deepEqual((await db.query(expired)).rows, [{ id: 'held' }]);
    await db.query({ text: `insert into leases (id) values ('made')` });
    await shiftTime(0);
    const { rows } = await db.query({
      text: `select id from leases where expires_at between pg_catalog.now() + interval '59 minutes' and now() + interval '61 minutes'`,
    });
    assert.deepEqual(rows, [{ id: 'made' }]);
  });

  test('the defaults of the migrations and of the job queue follow the shift', async () => {
    const { db, shiftTime } = current();
    await shiftTime(0);
    const { rows } = await db.transaction(async (tx) => {
      // Whatever is not of pg_catalog is then written with its schema.
      await tx.query({ text: `set local search_path = ''` });
      return tx.query<{ place: string; text: string }>({
        text: `select format('%s.%s', adrelid::regclass, adnum) as place, pg_get_expr(adbin, adrelid) as text from pg_attrdef
          where pg_get_expr(adbin, adrelid) ~ '(now|_timestamp)\\('`,
      });
    });
    assert.ok(rows.length > 100, 'the defaults were not found');
    assert.deepEqual(
      rows.filter(({ text }) => !text.includes('test_clock.')),
      [],
    );
  });

  test('an index on a time is used, shifted or not, and a prepared statement follows', async () => {
    const { db, shiftTime } = current();
    await shiftTime(0);
    await db.query({ text: 'create table public.dues (at timestamptz not null)' });
    await db.query({ text: `insert into dues select now() + interval '1 minute' * n from generate_series(1, 5000) n` });
    await db.query({ text: 'create index on dues (at)' });
    await db.query({ text: 'analyze dues' });
    const plan = { text: 'explain select count(*) from dues where at <= now()' };
    // The same text each time, so it is prepared once.
    const due = { text: 'select count(*)::int as due from dues where at <= now()', values: [] };
    for (const [shiftMs, expected] of [
      [0, 0],
      [HOUR_MS, 60],
      [0, 0],
    ] as const) {
      await shiftTime(shiftMs);
      assert.deepEqual((await db.query(due)).rows, [{ due: expected }]);
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(plan);
      assert.match(rows.map((row) => row['QUERY PLAN']).join('\n'), /Index (?:Only )?Scan .*\n.*Index Cond: \(at <= /);
    }
  });

  test('every session follows, also one that has been open for long', async () => {
    const { db, shiftTime, url } = current();
    if (url === undefined) return;
    const other = await connectServer({ url });
    try {
      const time = { text: 'select pg_catalog.now() < now() as is_ahead', values: [] };
      await shiftTime(0);
      assert.deepEqual((await other.query(time)).rows, [{ is_ahead: false }]);
      await shiftTime(HOUR_MS);
      const asked = await Promise.all([db, other, other].map((each) => each.query(time)));
      for (const { rows } of asked) assert.deepEqual(rows, [{ is_ahead: true }]);
    } finally {
      await other.close();
    }
  });
});

test('a database that the product alone sets up has no clock but the real one', async () => {
  const serverUrl = testServerUrl();
  const name = `ironcraft_test_plain_${randomBytes(6).toString('hex')}`;
  const url = serverUrl && Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const admin = serverUrl === undefined ? undefined : await connectServer({ url: serverUrl, poolSize: 1 });
  await admin?.query({ text: `create database ${name}`, values: [] });
  const db =
    url === undefined
      ? await connectEmbedded({ folder: undefined, engine: await holdEngine() })
      : await connectServer({ url });
  try {
    await setUpSchemas(db, [
      { service: 'domains', folder: fileURLToPath(new URL('../../migrations/domains', import.meta.url)) },
    ]);
    const found = `select from pg_proc where proname in ('now', 'clock_timestamp') and pronamespace <> 'pg_catalog'::regnamespace`;
    assert.equal((await db.query({ text: found })).rowCount, 0);
    assert.equal((await db.query({ text: `select from pg_namespace where nspname = 'test_clock'` })).rowCount, 0);
    assert.deepEqual(
      await readShifts(db),
      clocks.map(() => 0),
    );
  } finally {
    await db.close();
    await admin?.query({ text: `drop database ${name} with (force)`, values: [] });
    await admin?.close();
  }
});

/** In whole hours, as the functions tell it, against this process. */
async function readShifts(db: Database): Promise<number[]> {
  const { rows } = await db.query<{ times: string[] }>({
    text: `select array[${clocks.map((clock) => `extract(epoch from ${clock})::text`).join(', ')}] as times`,
  });
  return (rows[0]?.times ?? []).map((seconds) => Math.round((Number(seconds) * 1_000 - Date.now()) / HOUR_MS) + 0);
}
