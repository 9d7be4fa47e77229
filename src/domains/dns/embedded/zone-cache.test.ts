import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { addTestRecord, createHostedZone } from '../../../../test/support/zones.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import { ZoneCache, ZoneCacheBusy, type ZoneCacheOptions } from './zone-cache.ts';
import type { ZoneTree } from './zone-tree.ts';

const A = 1;

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

/** A cache, what it has asked of the store, and a gate before the answers. */
function createCache(options: Partial<ZoneCacheOptions> = {}) {
  const asked: string[] = [];
  const gate: { open: () => Promise<void> } = { open: async () => undefined };
  const db: Database = Object.create(database.db, {
    query: {
      value: async (statement: Statement) => {
        if (statement.text.includes('from domains.zones z where z.name')) asked.push(String(statement.values?.[0]));
        const rows = await database.db.query(statement);
        await gate.open();
        return rows;
      },
    },
  });
  return { asked, gate, cache: new ZoneCache({ db, nameservers: ['ns1.ironcraft.test'], ...options }) };
}

const addressesOf = (zone: ZoneTree | undefined, name: string) => zone?.find(name)?.get(A)?.records.length;

test('a zone that changes while it is read is read again', async () => {
  const { cache, gate, asked } = createCache();
  const zone = await createHostedZone(database.db, 'changing.test', ['@ 300 A 192.0.2.1']);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = () => promise;
  const first = cache.find('changing.test');
  await addTestRecord(database.db, zone, '@ 300 A 192.0.2.2');
  cache.invalidate('changing.test');
  resolve();
  await first;
  assert.equal(addressesOf(await cache.find('changing.test'), 'changing.test'), 2);
  assert.equal(asked.length, 2);
  assert.equal(addressesOf(await cache.find('www.changing.test'), 'changing.test'), 2);
  assert.equal(asked.length, 2, 'then it is known');
});

test('names below a zone, however many, ask nothing of the store', async () => {
  const { cache, asked } = createCache();
  await createHostedZone(database.db, 'flooded.test');
  await cache.find('flooded.test');
  for (let at = 0; at < 100; at += 1) assert.equal((await cache.find(`r${at}.a.b.flooded.test`))?.name, 'flooded.test');
  assert.deepEqual(asked, ['flooded.test']);
});

test('a name without a zone is asked for once, until there is one', async () => {
  const { cache, asked } = createCache();
  for (let at = 0; at < 3; at += 1) assert.equal(await cache.find('absent.test'), undefined);
  assert.deepEqual(asked, ['absent.test']);
  await createHostedZone(database.db, 'absent.test');
  cache.invalidate('absent.test');
  assert.equal((await cache.find('absent.test'))?.name, 'absent.test');
});

test('a zone under a suffix of several labels is found', async () => {
  const { cache } = createCache();
  await createHostedZone(database.db, 'shop.co.test');
  assert.equal((await cache.find('www.shop.co.test'))?.name, 'shop.co.test');
  assert.equal(await cache.find('co.test'), undefined);
});

test('zones beyond the size are dropped, those first that were not asked for the longest', async () => {
  const names = ['one.test', 'two.test', 'three.test'];
  for (const name of names) await createHostedZone(database.db, name);
  const { cache, asked } = createCache({ sizeLimit: 1_700 });
  await cache.find('one.test');
  await cache.find('two.test');
  await cache.find('one.test');
  await cache.find('three.test');
  assert.deepEqual(asked, names.slice(0, 3));
  await cache.find('one.test');
  assert.equal(asked.length, 3, 'one.test is still known');
  await cache.find('two.test');
  assert.equal(asked.length, 4);
});

test('names without a zone are remembered up to a number', async () => {
  const { cache, asked } = createCache({ absentLimit: 2 });
  for (const name of ['a.absent-1.test', 'absent-2.test', 'absent-1.test']) await cache.find(name);
  const before = asked.length;
  await cache.find('absent-3.test');
  await cache.find('absent-1.test');
  assert.ok(asked.length >= before + 1);
});

test('who would need one more read than are made at a time is turned away, and the next is not', async () => {
  const { cache, gate } = createCache({ loadLimit: 1 });
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = () => promise;
  const first = cache.find('busy-1.test');
  await assert.rejects(Promise.resolve(cache.find('busy-2.test')), ZoneCacheBusy);
  resolve();
  await first;
  assert.equal(await cache.find('busy-2.test'), undefined);
});

test('a read that failed is tried again', async () => {
  const { cache, gate } = createCache();
  await createHostedZone(database.db, 'failing.test');
  gate.open = () => Promise.reject(new Error('the store is away'));
  await assert.rejects(Promise.resolve(cache.find('failing.test')), /away/);
  gate.open = async () => undefined;
  assert.equal((await cache.find('failing.test'))?.name, 'failing.test');
});
