import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { describeOnEachStore } from '../../../test/support/database.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { TenantDatabase, type TenantTransaction } from '../store/tenant-db.ts';
import { appendEvent } from './append-event.ts';
import {
  FEED_START,
  type FeedBatch,
  FeedCursorAheadError,
  findFeedEnd,
  followFeed,
  followProjectFeed,
  onFeedChanged,
} from './follow-feed.ts';

const TIMEOUT_MS = 60_000;

describeOnEachStore('the feed', {}, (current) => {
  const project = () => new TenantDatabase(current().db, mintId('proj'));

  test('gives an event that commits late to a follower who had passed its time, before those of younger transactions', async (t) => {
    const { db } = current();
    const home = project();
    const start = await findFeedEnd(db);
    const [written, release] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    t.after(() => release.resolve());
    const slow = home.transaction(async (tx) => {
      written.resolve(await append(tx, 1));
      // The embedded store runs one transaction at a time: there the others wait, and nobody can pass.
      if (db.kind === 'server') await release.promise;
    });
    const late = await written.promise;
    const quick = await home.transaction((tx) => append(tx, 2));
    if (db.kind === 'server') {
      const before = await followProjectFeed(home, start, 10);
      assert.deepEqual(before.events, [], 'the younger transaction is not final while the older one is open');
      const [cursor] = [before.cursor];
      release.resolve();
      await slow;
      assert.deepEqual((await readUntil(home, cursor, 2)).ids, [late, quick]);
    }
    await slow;
    assert.deepEqual((await readUntil(home, start, 2)).ids, [late, quick]);
  });

  test('gives every event of many writers once, in one order, to followers that look at any moment', async () => {
    const { db } = current();
    const homes = [project(), project(), project()];
    const start = await findFeedEnd(db);
    const written: string[] = [];
    let isWriting = true;
    const write = async (home: TenantDatabase, writer: number) => {
      for (let n = 0; n < 12; n += 1) {
        const ids = await home.transaction(async (tx) => {
          const first = await append(tx, n);
          for (let pause = (writer * 7 + n * 3) % 11; pause > 0; pause -= 1) await tx.raw({ text: 'select $1::text' });
          return [first, await append(tx, n)];
        });
        written.push(...ids);
      }
    };
    const follow = async () => {
      const seen: string[] = [];
      let cursor = start;
      const deadline = Date.now() + TIMEOUT_MS;
      while ((isWriting || seen.length < written.length) && Date.now() < deadline) {
        const batch = await followFeed(db, cursor, 7);
        seen.push(...ownIds(batch, homes));
        cursor = batch.cursor;
        await yieldToOthers();
      }
      return seen;
    };
    const followers = [follow(), follow()];
    await Promise.all(Array.from({ length: 6 }, (_, writer) => write(homes[writer % 3] ?? project(), writer)));
    isWriting = false;
    const [one = [], other = []] = await Promise.all(followers);
    assert.deepEqual([...one].sort(), [...written].sort());
    assert.deepEqual(other, one);
    assert.deepEqual(await readAll(db, start, homes), one, 'a later reader sees the same order');
  });

  test('shows a project its own events, and moves its cursor past those of others', async () => {
    const { db } = current();
    const [home, abroad] = [project(), project()];
    const start = await findFeedEnd(db);
    const mine = await home.transaction((tx) => append(tx, 1));
    for (let n = 0; n < 5; n += 1) await abroad.transaction((tx) => append(tx, n));
    const { ids, cursor } = await readUntil(home, start, 1);
    assert.deepEqual(ids, [mine]);
    const next = await home.transaction((tx) => append(tx, 2));
    assert.deepEqual((await readUntil(home, cursor, 1)).ids, [next]);
  });

  test('is read in pages that neither skip nor repeat, within one transaction too', async () => {
    const home = project();
    const start = await findFeedEnd(current().db);
    const written = await home.transaction(async (tx) => {
      const ids: string[] = [];
      for (let n = 0; n < 10; n += 1) ids.push(await append(tx, n));
      return ids;
    });
    await readUntil(home, start, 10);
    const seen: string[] = [];
    let batch: FeedBatch | undefined;
    do {
      batch = await followProjectFeed(home, batch?.cursor ?? start, 3);
      assert.ok(batch.events.length <= 3);
      seen.push(...batch.events.map(({ id }) => id));
    } while (batch.isFull);
    assert.deepEqual(seen, written);
    assert.deepEqual((await followProjectFeed(home, batch.cursor, 3)).events, []);
  });

  test('has nothing of a transaction that was rolled back', async () => {
    const home = project();
    const start = await findFeedEnd(current().db);
    const undone = home.transaction(async (tx) => {
      await append(tx, 1);
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    const kept = await home.transaction((tx) => append(tx, 2));
    assert.deepEqual((await readUntil(home, start, 1)).ids, [kept]);
    assert.deepEqual((await readUntil(home, FEED_START, 1)).ids, [kept]);
  });

  test('refuses a cursor of another database, which would pass over all that is written here', async () => {
    const ahead = '9000000000000000000/';
    await assert.rejects(followFeed(current().db, ahead, 1), FeedCursorAheadError);
    await assert.rejects(followFeed(current().db, 'evt_1', 1), TypeError);
  });

  test('wakes its followers a few times at most for fifty events when their transaction has committed', async () => {
    const { db } = current();
    const home = project();
    let wakes = 0;
    const woken = Promise.withResolvers<void>();
    const stop = await onFeedChanged(db, () => {
      wakes += 1;
      woken.resolve();
    });
    try {
      await home.transaction(async (tx) => {
        for (let n = 0; n < 50; n += 1) await append(tx, n);
      });
      await woken.promise;
      await readUntil(home, FEED_START, 50);
      // Two, and one that an earlier test may have left behind.
      assert.ok(wakes >= 1 && wakes <= 3, `${wakes} wake-ups`);
    } finally {
      await stop();
    }
  });
});

async function append(tx: TenantTransaction, n: number): Promise<string> {
  return appendEvent(tx, { type: 'run.completed', actor: null, data: { n } });
}

/** Other transactions of the server may be open: what is committed becomes final when they end. */
async function readUntil(home: TenantDatabase, after: string, count: number) {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const { events, cursor } = await followProjectFeed(home, after, 100);
    if (events.length >= count || Date.now() > deadline) return { ids: events.map(({ id }) => id), cursor };
    await yieldToOthers();
  }
}

async function readAll(db: Database, after: string, homes: readonly TenantDatabase[]): Promise<string[]> {
  const seen: string[] = [];
  let batch: FeedBatch | undefined;
  do {
    batch = await followFeed(db, batch?.cursor ?? after, 50);
    seen.push(...ownIds(batch, homes));
  } while (batch.isFull);
  return seen;
}

function ownIds({ events }: FeedBatch, homes: readonly TenantDatabase[]): string[] {
  const own = new Set(homes.map(({ projectId }) => projectId));
  return events.filter(({ project_id }) => own.has(project_id)).map(({ id }) => id);
}
