import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestDatabase, type TestDatabase, testServerUrl } from '../../../test/support/database.ts';
import { connectServer } from './connect-server.ts';
import type { Database, Executor } from './database.ts';
import { isStoreUnavailable, StoreUnreachableError, sqlStateOf } from './sql-errors.ts';

describe('an unreachable server', () => {
  it('is named in the error, without the password', async () => {
    await assert.rejects(connectServer({ url: 'postgres://someone:secret@127.0.0.1:1/shop' }), (error) => {
      assert.ok(error instanceof StoreUnreachableError);
      assert.match(error.message, /127\.0\.0\.1:1\/shop.*ECONNREFUSED.*Check the database URL/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  });

  it('that accepts and never answers is given up', async () => {
    const sockets = new Set<{ destroy(): void }>();
    const mute = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    assert.ok(typeof address === 'object' && address !== null);
    await assert.rejects(
      connectServer({ url: `postgres://someone@127.0.0.1:${address.port}/shop`, connectTimeoutMs: 100 }),
      StoreUnreachableError,
    );
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('with an address that is none is refused', async () => {
    await assert.rejects(connectServer({ url: 'not a url' }), /use postgres:\/\//);
  });
});

/** Long enough for `select 1` on a machine that is busy. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** Between a client and the server. What it has connected falls silent as where a machine is lost: nothing says so. */
async function startRelay({ hostname, port }: URL) {
  const sockets = new Set<Socket>();
  const { promise: firstConnected, resolve: tellConnected } = Promise.withResolvers<void>();
  const relay = createServer((client) => {
    tellConnected();
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const address = relay.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    port: String(address.port),
    /** Resolves when somebody has connected. */
    connected: () => firstConnected,
    fallSilent() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}

const skip = testServerUrl() === undefined ? 'set IRONCRAFT_TEST_DATABASE_URL to run these' : false;

describe('a server connection', { skip }, () => {
  let database: TestDatabase;
  before(async () => {
    database = await openTestDatabase({ sources: [], store: 'server' });
  });
  after(() => database.close());

  it('a server connection is tried a second time when its first try is given up before its answer is read', async (t) => {
    const { port, close, fallSilent, connected } = await startRelay(new URL(database.url ?? ''));
    const url = Object.assign(new URL(database.url ?? ''), { hostname: '127.0.0.1', port }).href;
    const connectTimeoutMs = 30_000;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const connecting = connectServer({ url, connectTimeoutMs });
    await connected();
    fallSilent();
    t.mock.timers.tick(connectTimeoutMs);
    t.mock.timers.reset();
    const db = await connecting;
    await db.close();
    close();
  });

  it('is kept when a transaction ends by its caller’s own error, and replaced when it is cut', async () => {
    const other = await connectServer({ url: database.url ?? '', poolSize: 1 });
    const readPid = async (executor: Executor) =>
      (await executor.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid', values: [] })).rows[0]?.pid;
    const pid = await readPid(other);
    const refuse = other.transaction(async (tx) => {
      await readPid(tx);
      throw new RangeError('not so many');
    });
    await assert.rejects(refuse, RangeError);
    assert.equal(await readPid(other), pid);
    const cut = other.transaction(async (tx) => {
      await readPid(tx);
      await database.db.query({ text: 'select pg_terminate_backend($1::int, 5000)', values: [pid] });
      throw new RangeError('not so many');
    });
    await assert.rejects(cut, RangeError);
    assert.notEqual(await readPid(other), pid);
    await other.close();
  });

  /** Ends the other connections to this test's own database. */
  async function cutOthers(): Promise<void> {
    await database.db.query({
      text: `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      values: [],
    });
  }

  async function untilNoneIdlesInTransaction(): Promise<void> {
    for (;;) {
      const { rowCount } = await database.db.query({
        text: `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
        values: [],
      });
      if (rowCount === 0) return;
    }
  }

  function open(options: { readonly statementTimeoutMs?: number; readonly idleTransactionTimeoutMs?: number }) {
    assert.ok(database.url);
    return connectServer({ url: database.url, poolSize: 2, ...options });
  }

  it('that is lost while idle is replaced, and the process lives on', async () => {
    const other = await open({});
    await Promise.all([1, 2].map(() => other.query({ text: 'select 1', values: [] })));
    await cutOthers();
    // Until the loss is noticed a statement may still be given to the dead connection.
    await other.query({ text: 'select 1', values: [] }).catch(() => undefined);
    await other.query({ text: 'select 1', values: [] }).catch(() => undefined);
    await other.ping();
    await other.close();
  });

  it('that an idle process uses now and then is kept, and those of a load are closed some minutes after it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const other = await open({});
    const askPid = async () =>
      (await other.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid', values: [] })).rows[0]?.pid;
    const countOpen = async (pids: readonly unknown[]) => {
      const text = 'select count(*)::int as open from pg_stat_activity where pid = any($1)';
      return (await database.db.query<{ open: number }>({ text, values: [pids] })).rows[0]?.open;
    };
    const pids = await Promise.all([askPid(), askPid()]);
    assert.equal(new Set(pids).size, 2);
    t.mock.timers.tick(60_000);
    const kept = await askPid();
    assert.ok(pids.includes(kept));
    assert.equal(await countOpen(pids), 2, 'the next burst finds them');
    t.mock.timers.tick(240_001);
    assert.equal(await askPid(), kept);
    while ((await countOpen(pids)) !== 1) await nextTurn();
    t.mock.timers.tick(3_600_000);
    assert.equal(await askPid(), kept);
    await other.close();
  });

  it('that is lost inside a transaction rejects it', async () => {
    const other = await open({});
    await assert.rejects(
      other.transaction(async (tx) => {
        await tx.query({ text: 'select 1', values: [] });
        await cutOthers();
        await tx.query({ text: 'select 1', values: [] });
      }),
      // The last: the end of the connection was noticed before the statement was sent.
      /terminat|not queryable/,
    );
    await other.ping();
    await other.close();
  });

  it('a server connection that falls silent is given up after the timeout of its statement, and replaced', async () => {
    const { port, fallSilent, close } = await startRelay(new URL(database.url ?? ''));
    const url = Object.assign(new URL(database.url ?? ''), { hostname: '127.0.0.1', port }).href;
    const other = await connectServer({ url, poolSize: 1, statementTimeoutMs: 500, cancellationMs: 500 });
    const statement = { text: 'select 1', values: [] };
    await other.query(statement);
    fallSilent();
    await assert.rejects(other.query(statement), isStoreUnavailable);
    await other.query(statement);
    await other.close();
    close();
  });

  it('for wake-ups is made again when it is lost, and tells of the gap', async () => {
    const other = await open({});
    const gap = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<string>();
    await other.listen('news', heard.resolve, gap.resolve);
    await cutOthers();
    await gap.promise;
    await database.db.notify('news', 'again');
    assert.equal(await heard.promise, 'again');
    await other.close();
  });

  describe('quick statements', () => {
    const process = {
      text: 'select pg_backend_pid() as pid, 1 / $1::int as quotient',
      isQuick: true,
    } as const;

    async function ask(db: Database, divisors: readonly number[]) {
      const asked = divisors.map((divisor) => db.query<{ pid: number }>({ ...process, values: [divisor] }));
      return (await Promise.allSettled(asked)).map((each) =>
        each.status === 'fulfilled' ? each.value.rows[0]?.pid : undefined,
      );
    }

    it('of one turn of the event loop share a connection, and others do not', async () => {
      const other = await open({});
      const [first, ...rest] = await ask(other, [1, 2, 3]);
      assert.deepEqual(rest, [first, first]);
      const { isQuick: _, ...usual } = process;
      const apart = await Promise.all([1, 2].map((divisor) => other.query({ ...usual, values: [divisor] })));
      assert.notDeepEqual(apart[0]?.rows, apart[1]?.rows);
      await other.close();
    });

    it('fail each by itself, and the connection is used on', async () => {
      const other = await open({});
      const [first, failed, last] = await ask(other, [1, 0, 1]);
      assert.deepEqual([failed, last], [undefined, first]);
      assert.deepEqual(await ask(other, [1]), [first]);
      await other.close();
    });

    it('fail together with the connection, which is replaced', async () => {
      const other = await open({});
      await ask(other, [1]);
      const cut = {
        text: 'select pg_terminate_backend(pg_backend_pid()) where $1',
        values: [true],
        isQuick: true,
      } as const;
      const [lost] = await Promise.allSettled([
        other.query(cut),
        ...[1, 2].map((d) => other.query({ ...process, values: [d] })),
      ]);
      assert.equal(lost?.status, 'rejected');
      assert.equal((await ask(other, [1, 1])).filter((pid) => pid !== undefined).length, 2);
      await other.close();
    });
  });

  it('wakes listeners of other processes', async () => {
    const other = await open({});
    const heard = Promise.withResolvers<string>();
    await other.listen('news', heard.resolve);
    await database.db.notify('news', 'hello');
    assert.equal(await heard.promise, 'hello');
    await other.close();
  });

  it('a server connection cancels a statement that takes too long, and stays usable', async () => {
    const other = await open({ statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    await assert.rejects(
      other.query({ text: 'select pg_sleep(600)', values: [] }),
      (error) => sqlStateOf(error) === '57014',
    );
    await other.ping();
    await other.close();
  });

  it('rolls back a transaction that was abandoned', async () => {
    const other = await open({ idleTransactionTimeoutMs: 50 });
    await other.query({ text: 'create table abandoned (id int)' });
    const work = other.transaction(async (tx) => {
      await tx.query({ text: 'insert into abandoned values (1)', values: [] });
      await untilNoneIdlesInTransaction();
      await tx.query({ text: 'select 1', values: [] });
    });
    await assert.rejects(work);
    const { rows } = await other.query({ text: 'select * from abandoned', values: [] });
    assert.deepEqual(rows, []);
    await other.close();
  });
});
