/**
 * A platform server on PostgreSQL whose time a test lets pass: its waits, its time of day and the `now()` of its database. The clock waits
 * for the server: it moves by a second once the server has ended what it began in the second before.
 */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bookkeepingTables } from '../../src/command-line/bookkeeping-tables.ts';
import { createManualClock, runWithClock, type TurnedClock } from '../../src/kernel/clock/clock.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database, Statement, Transaction } from '../../src/kernel/db/database.ts';
import { asLook } from '../../src/kernel/db/looks.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { addSigningKey, makeSigningPair } from '../../src/platform/access/signing-keys.ts';
import { openTestDatabase } from './database.ts';
import { startPlatform, type TestPlatform, type TestPlatformOptions } from './platform.ts';
import { eventually } from './turns.ts';

export interface QuietServer extends TestPlatform {
  /** Lets so many seconds pass for the server and its database. */
  pass(seconds: number): Promise<void>;
  /** The same, second by second until the probe gives something. */
  passUntil<T>(probe: () => Promise<T | undefined>, what: string): Promise<T>;
  /** Lets time pass until nobody has used the store for 100 seconds, and the workers wait for long. */
  rest(): Promise<void>;
  /** Lets time pass until the server sends a statement that has this part. */
  passUntilSent(part: string): Promise<void>;
  /** Sets the time of day ahead, as a laptop that wakes up: no timer has come nearer. */
  stepClock(ms: number): void;
  /** Changes rows of the table on a connection of its own that ends at once, without a word to the server. */
  changeSilently(table: string, text: string, values: readonly unknown[]): Promise<void>;
  /** Opens a transaction that has a number, and ends without a change. */
  holdTransaction(): Promise<{ end(): Promise<void> }>;
  /** Whether this SQL is true; unseen by the server. */
  isTrue(text: string, values: readonly unknown[]): Promise<boolean>;
}

/** Turns of the event loop without a statement, after which the server counts as idle. */
const IDLE_TURNS = 4;
/** Longer than any worker waits. */
const LONGEST_WAIT_S = 700;

/** The server has the options of `startPlatform`, which are given its database. */
export async function startQuietServer(
  options: (db: Database) => Omit<TestPlatformOptions, 'sharing'>,
): Promise<QuietServer> {
  const store = await openTestDatabase({ store: 'server' });
  const { db: own, url = '' } = store;
  const manual = createManualClock(new Date());
  let aheadMs = 0;
  const timers = new Set<{ readonly dueMs: number }>();
  const clock: TurnedClock = {
    now: () => new Date(manual.now().getTime() + aheadMs),
    elapsedMs: () => manual.elapsedMs(),
    setTimer(callback, delayMs) {
      const entry = { dueMs: manual.elapsedMs() + delayMs };
      const fire = () => {
        timers.delete(entry);
        callback();
      };
      const timer = manual.setTimer(fire, delayMs);
      timers.add(entry);
      return {
        cancel() {
          timers.delete(entry);
          timer.cancel();
        },
      };
    },
  };
  const setDatabaseTime = await takeOverTime(own);
  await setDatabaseTime(clock.now());
  // Its use of the store waits by the clock, too.
  const db = await runWithClock(clock, () => connectServer({ url, poolSize: 4, bookkeeping: bookkeepingTables }));
  const sent: string[] = [];
  const underWay = countWork(db, sent);
  const vault = createVault([createSecretKey(randomBytes(32))]);
  await addSigningKey(db, vault, await makeSigningPair());
  const server = await runWithClock(clock, () => startPlatform({ ...options(db), sharing: { db, vault } }));

  async function settle(): Promise<void> {
    for (let idle = 0; idle < IDLE_TURNS; idle += 1) {
      if (underWay.size > 0) idle = 0;
      await Promise.allSettled(underWay);
      await nextTurn();
    }
  }

  async function pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 1) {
      const endMs = manual.elapsedMs() + 1_000;
      const isIdle = ![...timers].some(({ dueMs }) => dueMs <= endMs);
      if (!isIdle) await setDatabaseTime(new Date(clock.now().getTime() + 1_000));
      manual.advance(1_000);
      if (!isIdle) await settle();
    }
    await setDatabaseTime(clock.now());
  }

  return {
    ...server,
    pass,
    passUntil: (probe, what) =>
      eventually(async () => {
        await pass(1);
        return probe();
      }, what),
    async rest() {
      await pass(400);
      for (let before = -1; before !== db.use.count; ) {
        before = db.use.count;
        await pass(100);
      }
    },
    async passUntilSent(part) {
      sent.length = 0;
      for (let passed = 0; !sent.some((text) => text.includes(part)); passed += 1) {
        assert.ok(passed < LONGEST_WAIT_S, `the server has not sent "${part}"`);
        await pass(1);
      }
    },
    stepClock(ms) {
      aheadMs += ms;
    },
    async changeSilently(table, text, values) {
      const counted = () => readChanges(own, table);
      const before = await counted();
      const other = await connectServer({ url });
      await asLook(other).query({ text, values });
      await other.close();
      await eventually(async () => (await counted()) !== before || undefined, 'PostgreSQL counts the change');
    },
    async holdTransaction() {
      const begun = Promise.withResolvers<void>();
      const { promise: ending, resolve: end } = Promise.withResolvers<void>();
      const ended = own.transaction(async (tx) => {
        await tx.query({ text: 'select pg_current_xact_id()', values: [] });
        begun.resolve();
        await ending;
      });
      await Promise.race([begun.promise, ended]);
      return {
        end() {
          end();
          return ended;
        },
      };
    },
    async isTrue(text, values) {
      const { rows } = await own.query<{ answer: boolean }>({ text: `select ${text} as answer`, values });
      return rows[0]?.answer === true;
    },
    async close() {
      await server.close();
      await db.close();
      await store.close();
    },
  };
}

/**
 * Statements and transactions that the store has not ended; `sent` gets the texts of the statements outside of transactions. The store's own
 * are among them, as it calls itself by these methods.
 */
function countWork(db: Database, sent: string[]): ReadonlySet<Promise<unknown>> {
  const underWay = new Set<Promise<unknown>>();
  const count = <T>(work: Promise<T>): Promise<T> => {
    underWay.add(work);
    const end = () => void underWay.delete(work);
    work.then(end, end);
    return work;
  };
  const { query, transaction } = db;
  Object.assign(db, {
    query(statement: Statement) {
      sent.push(statement.text);
      return count(query.call(db, statement));
    },
    transaction: (work: (tx: Transaction) => Promise<unknown>) => count(transaction.call(db, work)),
  });
  return underWay;
}

/** From now on the time of the database is what it is told: that of a sequence, which no session has to be opened anew for. */
async function takeOverTime(db: Database): Promise<(time: Date) => Promise<void>> {
  const time = `to_timestamp((select last_value from test_clock.milliseconds) / 1000.0)`;
  const define = (name: string, volatility: string) =>
    `create or replace function ${name}() returns timestamptz language sql ${volatility} parallel safe as $$select ${time}$$;`;
  await db.query({
    text: `
      create sequence test_clock.milliseconds;
      ${['now', 'transaction_timestamp', 'statement_timestamp'].map((name) => define(`test_clock.${name}`, 'stable')).join('')}
      ${define('test_clock.clock_timestamp', 'volatile')}
      ${define('jobs.job_now', 'stable')}`,
  });
  return async (to) => {
    await db.query({ text: `select setval('test_clock.milliseconds', $1)`, values: [to.getTime()] });
  };
}

/** How many rows of the table have changed, as PostgreSQL counts them. */
async function readChanges(db: Database, table: string): Promise<string | undefined> {
  const { rows } = await db.query<{ changes: string }>({
    text: `
      select (pg_stat_get_tuples_inserted(c) + pg_stat_get_tuples_updated(c) + pg_stat_get_tuples_deleted(c))::text as changes
      from cast($1 as regclass) c`,
    values: [table],
  });
  return rows[0]?.changes;
}
