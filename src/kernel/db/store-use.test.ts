import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeOnEachStore, openTestDatabase, testServerUrl } from '../../../test/support/database.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createManualClock, runWithClock } from '../clock/clock.ts';
import { connectServer } from './connect-server.ts';
import type { Statement } from './database.ts';
import { asLook, isUse } from './looks.ts';
import { shareUse } from './share-use.ts';
import { StoreUse } from './store-use.ts';

const TEXTS: readonly (readonly [string, boolean])[] = [
  ['select 1', false],
  ['select * from runs for update', false],
  ['select * from runs r for update of r skip locked', false],
  ['select * from runs for no key update', false],
  ['select updated_at, "update" from runs', false],
  ['select pg_notify($1, $2)', false],
  ['listen feed', false],
  ['insert into runs (id) values ($1)', true],
  ['INSERT\n  INTO runs (id) values ($1)', true],
  ['update runs set status = $1', true],
  ['update "runs" set "status" = $1', true],
  ['with old as (select 1 for update) update runs set status = $1', true],
  ['with old as (select id from runs for update), gone as (delete from runs using old returning 1) select 1', true],
  ['insert into runs (id) values ($1) on conflict (id) do update set id = $1', true],
];

for (const [text, expected] of TEXTS) {
  test(`"${text.replaceAll('\n', ' ')}" ${expected ? 'is a use' : 'is no use'} of a store`, () => {
    for (const answer of [undefined, { rowCount: 1 }, { rowCount: 1 }]) assert.equal(isUse({ text }, answer), expected);
    assert.equal(isUse({ text, isLook: true }, { rowCount: 1 }), false, 'as a look');
    const isChange = /^(insert|update|delete)/i.test(text);
    assert.equal(isUse({ text }, { rowCount: 0 }), expected && !isChange, 'without a row');
  });
}

test('a store tells whoever waits for its next use, once', () => {
  const use = new StoreUse();
  const told: string[] = [];
  use.onNextUse(() => {
    told.push('first');
    use.onNextUse(() => told.push('again'));
  });
  const takeBack = use.onNextUse(() => told.push('never'));
  takeBack();
  use.note();
  assert.deepEqual(told, ['first']);
  use.note();
  use.note();
  assert.deepEqual(told, ['first', 'again']);
  assert.equal(use.count, 3);
});

test('a step of the machine’s clock is a use, while somebody waits for one', async () => {
  const clock = createManualClock(new Date());
  let aheadMs = 0;
  const stepped = {
    now: () => new Date(clock.now().getTime() + aheadMs),
    elapsedMs: () => clock.elapsedMs(),
    setTimer: clock.setTimer.bind(clock),
  };
  const use = runWithClock(stepped, () => new StoreUse());
  const pass = async (seconds: number) => {
    clock.advance(seconds * 1_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const told: string[] = [];
  use.onNextUse(() => told.push('told'));
  await pass(15);
  aheadMs += 900;
  await pass(15);
  assert.equal(use.count, 0, 'a correction is none');
  for (const stepMs of [3_600_000, -3_600_000]) {
    aheadMs += stepMs;
    await pass(14);
    assert.equal(use.count, told.length);
    await pass(1);
    assert.equal(told.length, use.count);
    use.onNextUse(() => told.push('told'));
  }
  assert.equal(use.count, 2);
  use.close();
  aheadMs += 3_600_000;
  await pass(60);
  assert.equal(use.count, 2, 'closed');
});

test('a store that processes share tells of uses each two seconds while they last, and of the last one', () => {
  const clock = createManualClock(new Date());
  const toldAt: number[] = [];
  const db = {
    query: async () => ({ rows: [], rowCount: 0 }),
    notify: async () => void toldAt.push(clock.elapsedMs() / 1_000),
    listen: async () => async () => undefined,
  };
  const use = runWithClock(clock, () => shareUse(db, { bookkeeping: [], logger: undefined }));
  const noteAt = (...seconds: number[]) => {
    for (const second of seconds) {
      clock.advance(second * 1_000 - clock.elapsedMs());
      use.note();
    }
  };
  noteAt(0, 0.5, 1.5, 2.5, 7, 30, 30.5);
  clock.advance(60_000);
  assert.deepEqual(toldAt, [0, 2, 4, 7, 30, 32]);
  noteAt(100, 101);
  use.close();
  clock.advance(60_000);
  assert.deepEqual(toldAt.slice(6), [100], 'closed');
});

describeOnEachStore('the use of a store', { sources: [] }, (current) => {
  const countUses = async (work: () => Promise<unknown>): Promise<number> => {
    const { use } = current().db;
    const before = use.count;
    await work();
    return use.count - before;
  };
  const insert: Statement = { text: 'insert into used (id) values ($1)', values: [1] };
  const read: Statement = { text: 'select id from used where id = $1', values: [1] };

  test('the store counts changes, and transactions with a change once they have ended', async () => {
    const { db } = current();
    const seen = await countUses(async () => {
      await db.query({ text: 'create table used (id int)', values: [] });
      await db.query(insert);
      await db.transaction(async (tx) => {
        const before = db.use.count;
        await tx.query(insert);
        await tx.query(insert);
        assert.equal(db.use.count, before, 'not before it has ended');
      });
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.query(insert);
          throw new Error('no');
        }),
      );
      await assert.rejects(db.query({ text: 'insert into missing values ($1)', values: [1] }));
      await db.query({ text: 'update used set id = $1 where id = $2', values: [1, 7] });
      await db.transaction((tx) => tx.query({ text: 'delete from used where id = $1', values: [7] }));
    });
    assert.equal(seen, 4);
  });

  test('the store counts no reads, looks, wake-ups or pings', async () => {
    const { db } = current();
    const seen = await countUses(async () => {
      await db.query(read);
      await asLook(db).query(insert);
      await db.transaction(async (tx) => {
        await tx.query(read);
        await asLook(tx).query(insert);
        await tx.notify('used', '');
      });
      await db.notify('used', '');
      await db.ping();
      await (await db.listen('used', () => undefined))();
    });
    assert.equal(seen, 0);
  });
});

describe('a server store that several processes use', { skip: testServerUrl() === undefined }, () => {
  test('tells each process of the uses of the others, and no process of its own a second time', async () => {
    const { db: one, url = '', close } = await openTestDatabase({ sources: [], store: 'server' });
    const other = await connectServer({ url });
    try {
      await one.query({ text: 'create table used (id int)', values: [] });
      const used = Promise.withResolvers<void>();
      other.use.onNextUse(() => used.resolve());
      // What comes behind it on the same connection shows that it listens.
      const listens = Promise.withResolvers<void>();
      await other.listen('ready', () => listens.resolve());
      await other.notify('ready', '');
      await listens.promise;
      await one.query({ text: 'insert into used (id) values ($1)', values: [1] });
      await used.promise;
      assert.deepEqual([one.use.count, other.use.count], [1, 1]);
    } finally {
      await other.close();
      await close();
    }
  });

  test('notices what was changed without a word, unless that is bookkeeping', async () => {
    const { url = '', db, close } = await openTestDatabase({ sources: [], store: 'server' });
    await db.query({ text: 'create table work (id int); create table notes (id int)' });
    /** By a process that ends right after it, and tells nobody. */
    const change = async (table: string) => {
      const other = await connectServer({ url });
      await other.query({ text: `insert into ${table} values (1)`, values: [] });
      await other.close();
      const isCounted = `select pg_stat_get_tuples_inserted('${table}'::regclass) > 0 as counted`;
      const look = () => db.query<{ counted: boolean }>({ text: isCounted, values: [] });
      await eventually(async () => (await look()).rows[0]?.counted || undefined, 'the server counts it');
    };
    const asked: Promise<unknown>[] = [];
    const counting = {
      query: <Row>(statement: Statement) => {
        const answer = db.query<Row>(statement);
        asked.push(answer);
        return answer;
      },
      notify: async () => undefined,
      listen: async () => async () => undefined,
    };
    const clock = createManualClock(new Date());
    const use = runWithClock(clock, () => shareUse(counting, { bookkeeping: ['public.notes'], logger: undefined }));
    const waitAndPass = async (seconds: number) => {
      use.onNextUse(() => undefined);
      clock.advance(seconds * 1_000);
      await Promise.all(asked.splice(0));
      await new Promise((resolve) => setImmediate(resolve));
      return use.count;
    };
    try {
      assert.equal(await waitAndPass(1), 1, 'the first time nothing is known');
      assert.equal(await waitAndPass(15), 1);
      await change('notes');
      assert.equal(await waitAndPass(15), 1, 'bookkeeping');
      await change('work');
      assert.equal(await waitAndPass(14), 1, 'it is asked each 15 seconds');
      assert.equal(await waitAndPass(1), 2);
      assert.equal(await waitAndPass(60), 2, 'once');
    } finally {
      use.close();
      await close();
    }
  });
});
