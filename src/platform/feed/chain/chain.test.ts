import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import type { Actor } from '../../tables.ts';
import { appendEvent } from '../append-event.ts';
import { BEFORE_CHAIN, checkHead, verifyChainPage } from './index.ts';
import { sealEvents } from './seal-events.ts';
import type { BrokenLink, ChainPlace } from './verify-chain.ts';

const TIMEOUT_MS = 60_000;
const logger = { warn: () => undefined } as never;

describeOnEachStore('the chain of events', {}, (current) => {
  const open = () => new TenantDatabase(current().db, mintId('proj'));

  test('holds every event of many writers once, and is proven page by page', async () => {
    const { db } = current();
    const homes = [open(), open()];
    const write = async (home: TenantDatabase) => {
      for (let n = 0; n < 20; n += 1) await append(home, 15);
    };
    const sealing = new AbortController();
    const seal = async () => {
      while (!sealing.signal.aborted) await sealEvents({ db, logger }, sealing.signal);
    };
    // Two replicas seal while others write.
    const sealers = [seal(), seal()];
    await Promise.all(homes.flatMap((home) => [write(home), write(home)]));
    sealing.abort();
    await Promise.all(sealers);
    for (const home of homes) {
      await sealUntil(db, home, 600);
      const { rows } = await db.query<{ links: number; events: number; last: number }>({
        text: `select count(*)::int as links, count(distinct event_id)::int as events, max(position)::int as last
               from event_links where project_id = $1`,
        values: [home.projectId],
      });
      assert.deepEqual(rows, [{ links: 600, events: 600, last: 600 }]);
      assert.equal((await prove(db, home.projectId)).position, 600);
    }
  });

  test('shows the first event that was changed, removed or put in, and a chain that was rewritten', async () => {
    const { db } = current();
    const home = open();
    const ids = await append(home, 9);
    await sealUntil(db, home, 9);
    const head = await prove(db, home.projectId);
    const at = (id: string | undefined) => [home.projectId, id];

    const changed = await breakAndProve(
      db,
      home,
      `update events set data = '{"n":0}' where project_id = $1 and id = $2`,
      at(ids[4]),
    );
    assert.deepEqual(changed, { position: 5, event_id: ids[4], reason: 'event_changed' });
    const removed = await breakAndProve(db, home, 'delete from events where project_id = $1 and id = $2', at(ids[2]));
    assert.deepEqual(removed, { position: 3, event_id: ids[2], reason: 'event_missing' });
    const cut = await breakAndProve(
      db,
      home,
      'delete from event_links where project_id = $1 and event_id = $2',
      at(ids[6]),
    );
    assert.deepEqual(cut, { position: 7, event_id: ids[7], reason: 'link_missing' });
    const inserted = await breakAndProve(
      db,
      home,
      `insert into events (project_id, id, type, data, written_by) values ($1, $2, 'run.completed', '{}', '3')`,
      [home.projectId, 'evt_between'],
    );
    assert.deepEqual(inserted, { position: 10, event_id: 'evt_between', reason: 'event_inserted' });

    assert.deepEqual(await prove(db, home.projectId), head, 'each was undone');
    assert.equal(await checkHead(db, home.projectId, head), undefined);
    const other = { ...head, hash: 'ab'.repeat(32) };
    assert.equal((await checkHead(db, home.projectId, other))?.reason, 'head_differs');
    assert.equal((await checkHead(db, home.projectId, { ...head, position: 10 }))?.reason, 'link_missing');
  });

  for (const member of [
    `type = 'run.failed'`,
    `created_at = created_at + interval '1 millisecond'`,
    `smith_id = 'smt_other'`,
    'smith_id = null',
    `actor = actor || '{"kind":"operator"}'`,
    `actor = actor || '{"id":"proj_other"}'`,
    `actor = actor || '{"token_id":"tok_other"}'`,
    `actor = actor || '{"email":"other@example.com"}'`,
    'actor = null',
    `data = data || '{"more":1}'`,
  ]) {
    test(`the chain shows an event that was changed by ${member}`, async () => {
      const { db } = current();
      const home = open();
      const actor: Actor = { kind: 'tenant', id: home.projectId, token_id: 'tok_own', email: 'own@example.com' };
      const id = await home.transaction((tx) =>
        appendEvent(tx, { type: 'run.completed', smithId: 'smt_own', actor, data: { n: 1 } }),
      );
      await sealUntil(db, home, 1);
      await prove(db, home.projectId);
      const text = `update events set ${member} where project_id = $1 and id = $2`;
      const found = await breakAndProve(db, home, text, [home.projectId, id]);
      assert.deepEqual(found, { position: 1, event_id: id, reason: 'event_changed' });
    });
  }

  test('cannot be written over: neither events nor links are changed or removed', async () => {
    const { db } = current();
    const home = open();
    await append(home, 1);
    await sealUntil(db, home, 1);
    for (const text of [
      `update events set data = '{}' where project_id = $1`,
      `update events set created_at = now() where project_id = $1`,
      'delete from events where project_id = $1',
      'delete from event_links where project_id = $1',
      'update event_links set position = 2 where project_id = $1',
    ]) {
      await assert.rejects(db.query({ text, values: [home.projectId] }), /append-only/, text);
    }
    await assert.rejects(db.query({ text: 'truncate events', values: [] }), /append-only/);
  });

  test('goes on after a restore, when transactions are counted anew', async () => {
    const { db } = current();
    const home = open();
    await append(home, 3);
    await sealUntil(db, home, 3);
    const [late] = await append(home, 1);
    // As a dump leaves them: the last event, and the follower's place, name transactions that are not here yet.
    await db.query({
      text: `update events set written_by = '9000000000000000000' where project_id = $1 and id = $2`,
      values: [home.projectId, late],
    });
    await db.query({
      text: `update feed_followers set cursor = '9000000000000000000/' where name = 'chain'`,
      values: [],
    });
    await append(home, 2);
    await sealUntil(db, home, 6);
    assert.equal((await prove(db, home.projectId)).position, 6);
  });
});

async function append(home: TenantDatabase, count: number): Promise<string[]> {
  return home.transaction(async (tx) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1)
      ids.push(await appendEvent(tx, { type: 'run.completed', actor: null, data: { n } }));
    return ids;
  });
}

/** Other transactions of the server may be open: what is committed becomes final when they end. */
async function sealUntil(db: Database, home: TenantDatabase, count: number): Promise<void> {
  for (const deadline = Date.now() + TIMEOUT_MS; ; await wait(5)) {
    await sealEvents({ db, logger }, new AbortController().signal);
    const { rows } = await db.query<{ links: number }>({
      text: 'select count(*)::int as links from event_links where project_id = $1',
      values: [home.projectId],
    });
    if ((rows[0]?.links ?? 0) >= count) return;
    assert.ok(Date.now() < deadline, `${rows[0]?.links} of ${count} events are sealed`);
  }
}

async function prove(db: Database, projectId: string): Promise<ChainPlace> {
  for (let place = BEFORE_CHAIN; ; ) {
    const page = await verifyChainPage(db, projectId, place);
    assert.equal(page.kind, 'proven', JSON.stringify(page));
    if (page.kind !== 'proven') return place;
    place = page.place;
    if (page.isEnd) return place;
  }
}

/** What is found when somebody with every right on the database does this; it is undone afterwards. */
async function breakAndProve(
  db: Database,
  home: TenantDatabase,
  text: string,
  values: unknown[],
): Promise<BrokenLink | undefined> {
  let found: BrokenLink | undefined;
  const undo = new Error('undo');
  const broken = db.transaction(async (tx) => {
    for (const table of ['events', 'event_links'])
      await tx.query({ text: `alter table ${table} disable trigger user`, values: [] });
    await tx.query({ text, values });
    const page = await verifyChainPage(tx, home.projectId, BEFORE_CHAIN);
    if (page.kind === 'broken') found = page.link;
    throw undo;
  });
  await assert.rejects(broken, undo);
  return found;
}
