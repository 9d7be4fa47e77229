import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { countDatabase, describeStatement } from './counted-database.ts';
import { countPort, noteTransit } from './counted-ports.ts';
import { Effects, ReplicaCrashed } from './effects.ts';
import { openHttpGateway } from './http-gateway.ts';

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase({ sources: [] });
  await database.db.query({ text: 'create table notes (replica text not null, text text not null)' });
});
after(() => database.close());

let replicas = 0;

/** One replica of a program that writes notes. */
function startReplica(...interruption: Parameters<Effects['arm']>) {
  const effects = new Effects();
  const db = countDatabase(database.db, effects);
  const replica = `replica-${++replicas}`;
  effects.arm(...interruption);
  return {
    effects,
    db,
    write: (executor: Pick<Database, 'query'>, text: string) =>
      executor.query({ text: 'insert into notes (replica, text) values ($1, $2)', values: [replica, text] }),
    async notes() {
      const text = 'select text from notes where replica = $1 order by text';
      const { rows } = await database.db.query<{ text: string }>({ text, values: [replica] });
      return rows.map((row) => row.text);
    },
    labels: () => effects.log.map(({ label }) => label),
  };
}

const crashed = { name: 'ReplicaCrashed' };

test('a statement is not carried out when the replica crashes before it', async () => {
  const { db, notes, write } = startReplica({ number: 2, moment: 'before' });
  await write(db, 'one');
  await assert.rejects(write(db, 'two'), crashed);
  assert.deepEqual(await notes(), ['one']);
});

test('a statement is carried out and its answer is lost when the replica crashes after it', async () => {
  const { db, notes, write } = startReplica({ number: 2, moment: 'after' });
  await write(db, 'one');
  await assert.rejects(write(db, 'two'), crashed);
  assert.deepEqual(await notes(), ['one', 'two']);
});

test('a transaction is counted as begin, statements and commit, and the commit says what it writes', async () => {
  const { db, labels, write } = startReplica();
  await db.transaction(async (tx) => {
    await write(tx, 'one');
    await tx.query({ text: 'select text from notes for update', values: [] });
  });
  assert.deepEqual(labels(), ['begin', 'insert into notes', 'select from notes', 'commit of insert into notes']);
});

for (const [number, moment, written] of [
  [1, 'before', []],
  [1, 'after', []],
  [2, 'before', []],
  [2, 'after', []],
  [3, 'before', []],
  [3, 'after', ['one']],
] as const) {
  test(`a transaction has written ${written.length} rows when the replica crashes ${moment} effect ${number} of begin, insert, commit`, async () => {
    const { db, effects, notes, write } = startReplica({ number, moment });
    let isHeard = false;
    let isAfterCommit = false;
    const working = db.transaction(async (tx) => {
      tx.afterCommit(() => {
        isAfterCommit = true;
      });
      await write(tx, 'one');
    });
    await assert.rejects(
      working.then(() => {
        isHeard = true;
      }),
      crashed,
    );
    assert.deepEqual([isHeard, isAfterCommit, effects.isDead], [false, false, true]);
    assert.deepEqual(await notes(), [...written]);
  });
}

test('a transaction that waits for something else is rolled back and its connection given back at the crash', async () => {
  const { db, effects, notes, write } = startReplica();
  const entered = Promise.withResolvers<void>();
  const working = db.transaction(async (tx) => {
    await write(tx, 'one');
    entered.resolve();
    await new Promise(() => undefined);
  });
  await entered.promise;
  effects.crash();
  await assert.rejects(working, crashed);
  // On the embedded store this waits for the transaction; on a server the row of an open one is not seen, so its lock is looked for.
  assert.deepEqual(await notes(), []);
  await database.db.transaction((tx) => tx.query({ text: 'lock table notes in access exclusive mode', values: [] }));
});

test('a replica that writes from a finally handler, a timer and a late promise after its crash writes nothing and is caught', async () => {
  const { db, effects, notes, write } = startReplica({ number: 1, moment: 'after' });
  const late = Promise.withResolvers<void>();
  const timer = Promise.withResolvers<void>();
  const swallow = (error: unknown) => assert.ok(error instanceof ReplicaCrashed);
  effects.onCrash(() => {
    setTimeout(
      () =>
        void write(db, 'timer')
          .catch(swallow)
          .then(() => timer.resolve()),
      1,
    );
  });
  const later = late.promise.then(() => db.transaction((tx) => write(tx, 'late promise'))).catch(swallow);
  const work = async () => {
    try {
      await write(db, 'work');
    } catch {
      await write(db, 'catch handler');
    } finally {
      await write(db, 'finally handler');
    }
  };
  await assert.rejects(work(), crashed);
  late.resolve();
  await Promise.all([later, timer.promise]);
  assert.deepEqual(await notes(), ['work']);
  assert.deepEqual(effects.refused.toSorted(), [
    'begin',
    'insert into notes',
    'insert into notes',
    'insert into notes',
  ]);
});

test('effects that wait when the replica crashes are refused', async () => {
  const { db, effects, notes, write } = startReplica({ number: 1, moment: 'after' });
  const outcomes = await Promise.allSettled([write(db, 'one'), write(db, 'two'), write(db, 'three')]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.deepEqual(await notes(), ['one']);
  assert.equal(effects.log.length, 1);
});

test('a listener of a crashed replica hears nothing more', async () => {
  const { db, effects } = startReplica();
  const heard: string[] = [];
  const other = Promise.withResolvers<void>();
  await db.listen('simulated', (payload) => void heard.push(payload));
  const stop = await database.db.listen('simulated', (payload) => void (payload === 'two' && other.resolve()));
  await db.notify('simulated', 'one');
  effects.crash();
  await assert.rejects(db.notify('simulated', 'never'), crashed);
  await database.db.notify('simulated', 'two');
  await other.promise;
  await stop();
  assert.equal(heard.includes('two'), false);
  assert.equal(heard.includes('never'), false);
});

test('a call outside waits for the transaction that another call has open, and not for its own', async () => {
  const { db, effects, labels, write } = startReplica();
  const port = { say: async (_word: object) => undefined };
  const counted = countPort(port, effects, 'port', { writes: ['say'] });
  await Promise.all([
    db.transaction(async (tx) => {
      await write(tx, 'one');
      await counted.say({ subject: 'inside' });
      await write(tx, 'two');
    }),
    counted.say({ subject: 'beside' }),
  ]);
  const insert = 'insert into notes';
  assert.deepEqual(labels(), [
    ...['begin', insert, 'port say inside', insert, `commit of ${insert}`],
    'port say beside',
  ]);
});

test('effects of parallel work have the same order in every run', async () => {
  const orders = new Set<string>();
  for (let run = 0; run < 10; run += 1) {
    const { db, labels, write } = startReplica();
    const chain = async (length: number) => {
      for (let place = 0; place < length; place += 1) await write(db, `${place}`);
    };
    await Promise.all([
      chain(3),
      db.transaction(async (tx) => {
        await tx.query({ text: 'select count(*) from notes', values: [] });
        await write(tx, 'inside');
      }),
      chain(2),
      db.query({ text: 'delete from notes where text = $1', values: ['nothing'] }),
    ]);
    orders.add(labels().join('; '));
  }
  assert.equal(orders.size, 1, [...orders].join('\n'));
});

test('a choice by a seed lets another effect of those that wait go first', async () => {
  const effects = new Effects({ chooseNext: (labels) => labels.length - 1 });
  const order: number[] = [];
  const port = { say: async (word: number) => void order.push(word) };
  const counted = countPort(port, effects, 'port', { writes: ['say'] });
  await Promise.all([counted.say(1), counted.say(2), counted.say(3)]);
  assert.deepEqual(order, [3, 2, 1]);
});

test('a replica that stands still goes on when it is resumed', async () => {
  const { db, effects, notes, write } = startReplica({ number: 2, moment: 'stalled' });
  await write(db, 'one');
  const waiting = write(db, 'two');
  await effects.stalled;
  assert.deepEqual(await notes(), ['one']);
  effects.resume();
  await waiting;
  assert.deepEqual(await notes(), ['one', 'two']);
});

test('a replica is idle when its effects have ended, those that nobody waits for too', async () => {
  const { db, effects, notes, write } = startReplica();
  void write(db, 'one').then(async () => {
    await nextTurn();
    await write(db, 'two');
  });
  await effects.idle();
  assert.deepEqual(await notes(), ['one', 'two']);
});

test('an HTTP request through a gateway reaches the server unless the replica crashes before it, and its answer is lost after it', async () => {
  const taken: string[] = [];
  const server = createServer((request, response) => {
    taken.push(`${request.method} ${request.url}`);
    response.end('done');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [moment, wanted] of [
    ['before', ['POST /one']],
    ['after', ['POST /one', 'POST /two']],
  ] as const) {
    taken.length = 0;
    const effects = new Effects();
    const gateway = await openHttpGateway(target, effects, (method, path) => `${method} ${path}`);
    const account = {
      call: (path: string) =>
        fetch(`${gateway.url}${path}`, { method: 'POST', body: 'body' }).then((answer) => answer.text()),
    };
    const port = noteTransit(account, effects, ['call']);
    effects.arm({ number: 2, moment });
    assert.equal(await port.call('/one'), 'done');
    await assert.rejects(port.call('/two'), TypeError);
    assert.deepEqual(taken, wanted);
    await gateway.close();
  }
  server.closeAllConnections();
  server.close();
});

test('a statement is described by its verb and its table', () => {
  const described = [
    'update "domains"."orders" set "state" = $1',
    ' select 1 from domains.wallets w for update of w skip locked',
    'with x as (select 1) insert into domains.events (id) values ($1)',
    'select now()',
  ].map((text) => describeStatement({ text }));
  assert.deepEqual(described, [
    'update domains.orders',
    'select from domains.wallets',
    'insert into domains.events',
    'select now()',
  ]);
});
