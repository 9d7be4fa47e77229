import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeOnEachStore, openTestDatabase, testServerUrl } from '../../../test/support/database.ts';
import { connectServer } from './connect-server.ts';
import type { Statement } from './database.ts';
import { asLook, isUse } from './looks.ts';
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
    assert.equal(isUse({ text }), expected);
    assert.equal(isUse({ text }), expected, 'when it comes again');
    assert.equal(isUse({ text, isLook: true }), false, 'as a look');
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
});
