/**
 * A domain service whose workers run on a clock that a test turns, over a server store that is used by nobody but the test. Nothing waits for
 * real time: after each second of the clock the helper waits until no statement is in flight. PostgreSQL counts row changes per connection and
 * adds them up seconds later, so the helper has it do so at once.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bookkeepingTables } from '../../src/command-line/bookkeeping-tables.ts';
import { createManualClock, runWithClock, type TurnedClock } from '../../src/kernel/clock/clock.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database, Rows } from '../../src/kernel/db/database.ts';
import { asLook } from '../../src/kernel/db/looks.ts';
import type { Jobs } from '../../src/kernel/jobs/jobs.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { startDomains, type TestDomains, type TestDomainsOptions } from './domains.ts';
import { eventually } from './turns.ts';

export interface QuietDomains extends TestDomains {
  now(): Date;
  /** Runs work on the clock of the service; what it starts follows that clock. */
  onClock<Result>(work: () => Result): Result;
  /** Advances the clock second by second, and has what each second begins end before the next. */
  pass(seconds: number): Promise<void>;
  /** Passes until all workers wait for as long as they ever do, and PostgreSQL has counted every row change of the service. */
  rest(): Promise<void>;
  /** Changes a row by an ordinary use of the store, which the service hears of; PostgreSQL has counted it then. */
  change(text: string, values: readonly unknown[]): Promise<void>;
  /** Changes a row over a connection that ends right after the commit and notifies nobody. Resolves when PostgreSQL has counted the change. */
  changeSilently(text: string, values: readonly unknown[]): Promise<void>;
  /** Evaluates a condition over a connection of the test's own. */
  isTrue(condition: string, values: readonly unknown[]): Promise<boolean>;
}

const POOL_SIZE = 6;
/** The helper waits for so many turns of the event loop in a row without a statement in flight. */
const CALM_TURNS = 4;
/** Work that was begun has ended by then. */
const LAST_WORK_SECONDS = 30;
/** Waits that double from a few seconds on have reached five minutes by then, and the next pass of nearly all workers is far away. */
const REST_SECONDS = 745;

/** The queue of pg-boss polls in real time; no job runs here. */
const noJobs: Jobs = {
  define: () => undefined,
  schedule: () => undefined,
  enqueue: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
};

export async function startQuietDomains(options: Omit<TestDomainsOptions, 'clock' | 'sharing'>): Promise<QuietDomains> {
  const { db: outside, url = '', close } = await openTestDatabase({ store: 'server' });
  const { clock, timers } = createCountedClock();
  const onClock = <Result>(work: () => Result): Result => runWithClock(clock, work);
  const db = await onClock(() => connectServer({ url, poolSize: POOL_SIZE, bookkeeping: bookkeepingTables }));
  const statements = countStatements(db);
  const hearAll = await openBarrier(db, outside);
  const vault = createVault([createSecretKey(randomBytes(32))]);
  const parts = { ...options.parts, jobs: noJobs };
  const service = await onClock(() => startDomains({ ...options, clock, parts, sharing: { db, vault } }));

  async function settle(): Promise<void> {
    for (let begun = -1; begun !== statements.begun; ) {
      ({ begun } = statements);
      for (let calm = 0; calm < CALM_TURNS; calm = statements.inFlight === 0 ? calm + 1 : 0) await nextTurn();
      // A notification that was sent before has arrived by then.
      await hearAll();
      await nextTurn();
    }
  }

  async function pass(seconds: number): Promise<void> {
    await settle();
    for (let passed = 0; passed < seconds; passed += 1) {
      const { fired } = timers;
      clock.advance(1_000);
      if (timers.fired !== fired) await settle();
    }
  }

  async function isTrue(condition: string, values: readonly unknown[]): Promise<boolean> {
    const { rows } = await outside.query<{ found: boolean | null }>({ text: `select ${condition} as found`, values });
    return rows[0]?.found === true;
  }

  async function rest(): Promise<void> {
    await pass(LAST_WORK_SECONDS);
    await countChanges(db);
    await pass(REST_SECONDS);
  }

  async function change(text: string, values: readonly unknown[]): Promise<void> {
    requireOne(text, await db.query({ text, values }));
    await countChanges(db);
  }

  async function changeSilently(text: string, values: readonly unknown[]): Promise<void> {
    const other = await connectServer({ url, poolSize: 1 });
    const pid = await other.transaction(async (tx) => {
      requireOne(text, await asLook(tx).query({ text, values }));
      const { rows } = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid', values: [] });
      return rows[0]?.pid;
    });
    await other.close();
    // A backend adds its changes up before it leaves the list.
    const isGone = 'not exists (select from pg_stat_activity where pid = $1)';
    await eventually(async () => (await isTrue(isGone, [pid])) || undefined, 'the connection has ended');
  }

  return {
    ...service,
    now: () => clock.now(),
    onClock,
    pass,
    rest,
    change,
    changeSilently,
    isTrue,
    async close() {
      await service.close();
      await db.close();
      await close();
    },
  };
}

function requireOne(text: string, { rowCount }: Pick<Rows<unknown>, 'rowCount'>): void {
  if (rowCount !== 1) throw new Error(`${rowCount} rows were changed by: ${text}`);
}

/** The clock starts at the present, as some columns have times of the database. */
function createCountedClock() {
  const clock = createManualClock(new Date());
  const timers = { fired: 0 };
  const counted: TurnedClock & Pick<typeof clock, 'advance'> = {
    ...clock,
    setTimer: (callback, delayMs) =>
      clock.setTimer(() => {
        timers.fired += 1;
        callback();
      }, delayMs),
  };
  return { clock: counted, timers };
}

/** The methods are replaced in place: statements of the store's own, such as its checks for row changes, are counted too. */
function countStatements(db: Database) {
  const counts = { begun: 0, inFlight: 0 };
  const counted =
    <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      counts.begun += 1;
      counts.inFlight += 1;
      try {
        return await run(...args);
      } finally {
        counts.inFlight -= 1;
      }
    };
  Object.assign(db, {
    query: counted(db.query.bind(db)),
    transaction: counted(db.transaction.bind(db)),
    notify: counted(db.notify.bind(db)),
    ping: counted(db.ping.bind(db)),
  });
  return counts;
}

/** Resolves once all notifications that were sent before the call have been heard: PostgreSQL delivers them in order. */
async function openBarrier(db: Database, outside: Database): Promise<() => Promise<void>> {
  const channel = 'quiet_domains_barrier';
  let heard = Promise.withResolvers<void>();
  await db.listen(channel, () => heard.resolve());
  return async () => {
    heard = Promise.withResolvers<void>();
    await outside.notify(channel, '');
    await heard.promise;
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
