/**
 * A server store that only a test uses, on a clock that the test turns: the waits and the time of day of the services that are started on it,
 * and the `now()` of the database. Nothing waits for real time: the clock moves by a second once no statement is in flight. PostgreSQL counts
 * row changes per connection and adds them up seconds later, so it is made to do so at once.
 */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bookkeepingTables } from '../../src/command-line/bookkeeping-tables.ts';
import { createManualClock, runWithClock, type TurnedClock } from '../../src/kernel/clock/clock.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database, Statement, Transaction } from '../../src/kernel/db/database.ts';
import { asLook } from '../../src/kernel/db/looks.ts';
import { createVault, type Vault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { eventually } from './turns.ts';

export interface QuietStore {
  /** For the services: give it to them as what they share. */
  readonly db: Database;
  readonly vault: Vault;
  /** The same database over connections of the test's own, which the services do not hear of. */
  readonly outside: Database;
  readonly clock: TurnedClock;
  /** Runs work on the clock; what it starts follows that clock. */
  onClock<Result>(work: () => Result): Result;
  /** Lets so many seconds pass, and has what each of them begins end before the next. */
  pass(seconds: number): Promise<void>;
  /** Passes until PostgreSQL has counted every row change, and all workers wait for as long as they ever do. */
  rest(): Promise<void>;
  /** Passes until a service sends a statement that has this part. */
  passUntilSent(part: string): Promise<void>;
  /** Sets the time of day ahead, as a laptop that wakes up: no timer has come nearer. */
  stepClock(ms: number): void;
  /** Changes a row by an ordinary use of the store, which the services hear of; PostgreSQL has counted it then. */
  change(text: string, values: readonly unknown[]): Promise<void>;
  /** Changes a row over a connection that ends right after the commit and notifies nobody; PostgreSQL has counted it then. */
  changeSilently(text: string, values: readonly unknown[]): Promise<void>;
  /** Whether this SQL is true; unseen by the services. */
  isTrue(condition: string, values: readonly unknown[]): Promise<boolean>;
  /** Call it once the services have ended. */
  close(): Promise<void>;
}

const POOL_SIZE = 6;
/** Turns of the event loop without a statement, after which the services count as idle. */
const IDLE_TURNS = 4;
/** Work that was started has ended by then. */
const LAST_WORK_SECONDS = 30;
/** Waits that double from a few seconds on have reached five minutes by then, and the next pass of nearly all workers is far away. */
const REST_SECONDS = 745;
const BARRIER = 'quiet_store_barrier';

export async function startQuietStore(): Promise<QuietStore> {
  const { db: outside, url = '', close } = await openTestDatabase({ store: 'server' });
  const { clock, advance, isDueWithin, stepClock } = createSteppedClock();
  const onClock = <Result>(work: () => Result): Result => runWithClock(clock, work);
  const setDatabaseTime = await takeOverTime(outside);
  await setDatabaseTime(clock.now());
  // Its use of the store waits by the clock, too.
  const db = await onClock(() => connectServer({ url, poolSize: POOL_SIZE, bookkeeping: bookkeepingTables }));
  const { sent, underWay } = noteStatements(db);
  let settled = 0;
  let heard = Promise.withResolvers<void>();
  // Not on the clock: the connection that listens waits for its server in real time.
  await db.listen(BARRIER, () => heard.resolve());

  /** Resolves once all notifications that were sent before the call have been heard: PostgreSQL delivers them in order. */
  async function hearAll(): Promise<void> {
    heard = Promise.withResolvers<void>();
    await outside.notify(BARRIER, '');
    await heard.promise;
  }

  async function untilIdle(): Promise<void> {
    for (let idle = 0; idle < IDLE_TURNS; idle += 1) {
      if (underWay.size > 0) idle = 0;
      await Promise.allSettled(underWay);
      await nextTurn();
    }
  }

  async function settle(): Promise<void> {
    await untilIdle();
    // A statement may have sent a notification, and what hears it may send another.
    while (settled !== sent.length) {
      settled = sent.length;
      await hearAll();
      await untilIdle();
    }
  }

  async function pass(seconds: number): Promise<void> {
    await settle();
    for (let passed = 0; passed < seconds; passed += 1) {
      const isIdle = !isDueWithin(1_000);
      if (!isIdle) await setDatabaseTime(new Date(clock.now().getTime() + 1_000));
      advance(1_000);
      if (!isIdle) await settle();
    }
    await setDatabaseTime(clock.now());
  }

  async function isTrue(condition: string, values: readonly unknown[]): Promise<boolean> {
    const { rows } = await outside.query<{ answer: boolean | null }>({ text: `select ${condition} as answer`, values });
    return rows[0]?.answer === true;
  }

  return {
    db,
    vault: createVault([createSecretKey(randomBytes(32))]),
    outside,
    clock,
    onClock,
    pass,
    async rest() {
      await pass(LAST_WORK_SECONDS);
      await countChanges(db);
      await pass(REST_SECONDS);
    },
    async passUntilSent(part) {
      const from = sent.length;
      for (let passed = 0; !sent.slice(from).some((text) => text.includes(part)); passed += 1) {
        assert.ok(passed < REST_SECONDS, `no service has sent "${part}"`);
        await pass(1);
      }
    },
    stepClock,
    async change(text, values) {
      const { rowCount } = await db.query({ text, values });
      assert.equal(rowCount, 1, text);
      await countChanges(db);
    },
    async changeSilently(text, values) {
      const other = await connectServer({ url, poolSize: 1 });
      const { rows } = await other.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid', values: [] });
      const { rowCount } = await asLook(other).query({ text, values });
      await other.close();
      assert.equal(rowCount, 1, text);
      // A backend adds its changes up before it leaves the list.
      const isGone = 'not exists (select from pg_stat_activity where pid = $1)';
      await eventually(async () => (await isTrue(isGone, [rows[0]?.pid])) || undefined, 'the connection has ended');
    },
    isTrue,
    async close() {
      await db.close();
      await close();
    },
  };
}

/** It starts at the present. */
function createSteppedClock() {
  const manual = createManualClock(new Date());
  const pending = new Set<{ readonly dueMs: number }>();
  let aheadMs = 0;
  const clock: TurnedClock = {
    now: () => new Date(manual.now().getTime() + aheadMs),
    elapsedMs: () => manual.elapsedMs(),
    setTimer(callback, delayMs) {
      const due = { dueMs: manual.elapsedMs() + delayMs };
      pending.add(due);
      const timer = manual.setTimer(() => {
        pending.delete(due);
        callback();
      }, delayMs);
      return {
        cancel() {
          pending.delete(due);
          timer.cancel();
        },
      };
    },
  };
  return {
    clock,
    advance: (ms: number) => manual.advance(ms),
    isDueWithin: (ms: number) => [...pending].some(({ dueMs }) => dueMs <= manual.elapsedMs() + ms),
    stepClock(ms: number) {
      aheadMs += ms;
    },
  };
}

/** Those of the store's own are among them, such as its questions for row changes, as it calls itself by these methods. */
function noteStatements(db: Database) {
  /** Texts of the statements outside of transactions, and an entry for each transaction. */
  const sent: string[] = [];
  const underWay = new Set<Promise<unknown>>();
  const note = <T>(text: string, work: Promise<T>): Promise<T> => {
    sent.push(text);
    underWay.add(work);
    const end = () => void underWay.delete(work);
    work.then(end, end);
    return work;
  };
  const { query, transaction } = db;
  Object.assign(db, {
    query: (statement: Statement) => note(statement.text, query.call(db, statement)),
    transaction: (work: (tx: Transaction) => Promise<unknown>) => note('begin', transaction.call(db, work)),
  });
  return { sent, underWay };
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

/** Each connection of the pool adds its row changes up now. Transactions that are open at once take a connection each. */
async function countChanges(db: Database): Promise<void> {
  const all = Promise.withResolvers<void>();
  let open = 0;
  const flush = () =>
    db.transaction(async (tx) => {
      await tx.query({ text: 'select pg_stat_force_next_flush()', values: [] });
      open += 1;
      if (open === POOL_SIZE) all.resolve();
      await all.promise;
    });
  await Promise.all(Array.from({ length: POOL_SIZE }, flush));
}
