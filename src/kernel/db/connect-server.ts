/** The server store: a pool of connections to PostgreSQL 15 or later, and one more for wake-ups. */
import pg from 'pg';
import { setTimer } from '../clock/timers.ts';
import type { Database, Rows, Statement, Transaction } from './database.ts';
import { isUse } from './looks.ts';
import { NotificationListener } from './notification-listener.ts';
import {
  isScript,
  notifyAloneStatement,
  refuseInsideTransaction,
  runScript,
  runStatement,
  runTransaction,
  type StoreLogger,
} from './session.ts';
import { shareUse } from './share-use.ts';
import { StoreUnavailableError, StoreUnreachableError, sqlState, sqlStateOf } from './sql-errors.ts';
import type { StoreUse } from './store-use.ts';
import { columnTypes } from './values.ts';
import { WakeUps } from './wake-ups.ts';

export interface ServerOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=…` where TLS is wanted. */
  readonly url: string;
  /** Connections for statements; one more listens for wake-ups. Default 10. */
  readonly poolSize?: number;
  /**
   * A statement that runs longer is cancelled by the server (SQLSTATE 57014), and the connection given up where that is not heard of
   * either. Default 30,000; 0: never.
   */
  readonly statementTimeoutMs?: number;
  /** A server that has not even said in this time that it has cancelled a statement is lost, though the system may notice much later. Default 5,000. */
  readonly cancellationMs?: number;
  /** A transaction that sends nothing for so long is rolled back by the server. Default 60,000; 0: never. */
  readonly idleTransactionTimeoutMs?: number;
  /** Longest wait for a connection, be it made or awaited from the pool. Default 5,000. */
  readonly connectTimeoutMs?: number;
  /** Tables, with their schemas, whose changes are no use of the store: see `share-use.ts`. */
  readonly bookkeeping?: readonly string[];
  readonly logger?: StoreLogger;
}

const oldestVersion = 150_000;
const defaultStatementTimeoutMs = 30_000;
const defaultCancellationMs = 5_000;
const pingTimeoutMs = 3_000;
/**
 * A new connection costs a handshake and the planning of every prepared statement, so that one is kept for good: the pool lends the one that
 * was used last, which an idle process therefore goes on using. What a load has opened beyond it is kept between bursts, and given back to
 * the server, whose connections are limited, a few minutes after the last one.
 */
const keptConnections = 1;
const idleConnectionMs = 300_000;

/** Connects, to prove the address; rejects with StoreUnreachableError, or an Error when the server is too old. */
export async function connectServer(options: ServerOptions): Promise<Database> {
  const database = new ServerDatabase(options);
  try {
    const version = await readVersion(database).catch((error: unknown) => {
      if (!(error instanceof StoreUnreachableError)) throw error;
      // A process that is loading may look at its timers before it looks at what has arrived: the second time it is free.
      return readVersion(database);
    });
    if (version < oldestVersion) {
      throw new Error(`PostgreSQL 15 or later is needed and ${database.address} runs ${version / 10_000}: upgrade it`);
    }
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function readVersion(database: Database): Promise<number> {
  const { rows } = await database.query<{ version: number }>({
    text: `select current_setting('server_version_num')::int as version`,
  });
  return rows[0]?.version ?? 0;
}

/** A connection while quick statements share it. */
interface SharedConnection {
  readonly client: Promise<pg.PoolClient>;
  readonly over: PromiseWithResolvers<void>;
  statements: number;
  failure: { readonly error: unknown } | undefined;
}

class ServerDatabase implements Database {
  readonly kind = 'server';
  readonly use: StoreUse;
  readonly address: string;
  readonly #pool: pg.Pool;
  readonly #listener: NotificationListener;
  readonly #logger: StoreLogger | undefined;
  /** Open to the quick statements of this turn of the event loop. */
  #shared: SharedConnection | undefined;
  readonly #wakeUps = new WakeUps((channel) =>
    this.notify(channel, '').catch((error: unknown) => {
      this.#logger?.warn({ err: error, channel }, 'a wake-up was not sent; listeners look by themselves');
    }),
  );

  constructor(options: ServerOptions) {
    this.address = describeAddress(options.url);
    this.#logger = options.logger;
    const connectionTimeoutMillis = options.connectTimeoutMs ?? 5_000;
    const statementTimeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs;
    const config = {
      connectionString: options.url,
      connectionTimeoutMillis,
      fallback_application_name: 'ironcraft',
      query_timeout:
        statementTimeoutMs === 0 ? 0 : statementTimeoutMs + (options.cancellationMs ?? defaultCancellationMs),
    };
    const settings = sessionSettings(options);
    this.#pool = new pg.Pool({
      ...config,
      max: options.poolSize ?? 10,
      min: keptConnections,
      idleTimeoutMillis: idleConnectionMs,
      keepAlive: true,
      pipeline: true,
      types: columnTypes,
      onConnect: async (client) => {
        await client.query(settings);
      },
    });
    // Without a listener the loss of an idle connection would end the process; the pool replaces it by itself.
    this.#pool.on('error', (error) => this.#logger?.warn({ err: error }, 'an idle database connection was lost'));
    this.#listener = new NotificationListener(config, options.logger);
    this.use = shareUse(
      {
        query: (statement) => this.query(statement),
        // What a store that closes still runs is nobody's news.
        notify: async (channel, payload) => (this.#pool.ending ? undefined : this.notify(channel, payload)),
        listen: (channel, onMessage, onGap) => this.listen(channel, onMessage, onGap),
      },
      { bookkeeping: options.bookkeeping ?? [], logger: options.logger },
    );
  }

  async query<Row = Record<string, unknown>>(statement: Statement): Promise<Rows<Row>> {
    refuseInsideTransaction(this, 'Database.query');
    let answer: Rows<Row> | undefined;
    try {
      answer = await this.#run<Row>(statement);
      return answer;
    } finally {
      if (isUse(statement, answer)) this.use.note();
    }
  }

  #run<Row>(statement: Statement): Promise<Rows<Row>> {
    if (statement.isQuick === true) return this.#useShared((client) => runStatement<Row>(client, statement));
    return this.#use((client) => (isScript(statement) ? runScript<Row> : runStatement<Row>)(client, statement));
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    refuseInsideTransaction(this, 'Database.transaction');
    return this.#use((client, onRolledBack) =>
      runTransaction(client, work, {
        owner: this,
        logger: this.#logger,
        wake: (channel) => this.wake(channel),
        onUsed: () => this.use.note(),
        onSending: () => writeAtOnce(client),
        onRolledBack,
      }),
    );
  }

  wake(channel: string): void {
    this.#wakeUps.wake(channel);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(notifyAloneStatement(channel, payload));
  }

  listen(channel: string, onMessage: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>> {
    return this.#listener.listen(channel, onMessage, onGap);
  }

  async ping(): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimer(
      () => {
        reject(new StoreUnreachableError(`PostgreSQL at ${this.address} did not answer within ${pingTimeoutMs} ms`));
      },
      pingTimeoutMs,
      { keepsProcess: true },
    );
    try {
      await Promise.race([this.#use(requireWritable), late]);
    } finally {
      timer.cancel();
    }
  }

  async close(): Promise<void> {
    this.#wakeUps.close();
    this.use.close();
    await this.#listener.close();
    if (!this.#pool.ending) await this.#pool.end();
  }

  /**
   * Lends a connection; one that is broken, or whose prepared plans are stale, is thrown away afterwards. `work` calls what it is given
   * where it failed and the connection did not: a refusal in a transaction is the caller's own error.
   */
  async #use<T>(work: (client: pg.PoolClient, onRolledBack: () => void) => Promise<T>): Promise<T> {
    const client = await this.#checkOut();
    let discard = false;
    let isRolledBack = false;
    // Statements in flight reject by themselves; this only keeps the event from ending the process.
    const onError = (): void => {
      discard = true;
    };
    client.on('error', onError);
    try {
      return await work(client, () => {
        isRolledBack = true;
      });
    } catch (error) {
      discard ||= leavesUnusable(error, isRolledBack) || client.getTransactionStatus() !== 'I';
      throw error;
    } finally {
      client.off('error', onError);
      client.release(discard);
    }
  }

  /** As `#use`, on a connection that others use as well. */
  async #useShared<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.#shared ??= this.#share();
    const shared = this.#shared;
    shared.statements += 1;
    try {
      return await work(await shared.client);
    } catch (error) {
      shared.failure ??= { error };
      throw error;
    } finally {
      shared.statements -= 1;
      if (shared.statements === 0) this.#endSharing(shared);
    }
  }

  #share(): SharedConnection {
    const { promise: client, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    const over = Promise.withResolvers<void>();
    // Without a connection nobody waits for it.
    over.promise.catch(() => undefined);
    const shared: SharedConnection = { client, over, statements: 0, failure: undefined };
    this.#use((lent) => {
      writeAtOnce(lent);
      resolve(lent);
      return over.promise;
    }).catch(reject);
    setImmediate(() => {
      if (this.#shared === shared) this.#shared = undefined;
    });
    return shared;
  }

  /** The connection is kept or thrown away by what became of its statements. */
  #endSharing(shared: SharedConnection): void {
    if (this.#shared === shared) this.#shared = undefined;
    if (shared.failure === undefined) shared.over.resolve();
    else shared.over.reject(shared.failure.error);
  }

  async #checkOut(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      const cause = error instanceof AggregateError ? error.errors[0] : error;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StoreUnreachableError(
        `no connection to PostgreSQL at ${this.address}: ${reason}. Check the database URL, that the server runs, and its connection limit`,
        { cause },
      );
    }
  }
}

/** What this connection is told before the event loop goes on leaves in one system call, and wakes its process once. */
function writeAtOnce({ connection }: pg.PoolClient): void {
  connection.stream.cork();
  process.nextTick(() => connection.stream.uncork());
}

/** A standby, or a server that a full disk has made read-only, answers and takes no change. */
async function requireWritable(client: pg.PoolClient): Promise<void> {
  const text = `select current_setting('transaction_read_only') = 'on' as read_only`;
  const { rows } = await runStatement<{ read_only: boolean }>(client, { text, values: [] });
  if (rows[0]?.read_only === true) {
    throw new StoreUnavailableError('the database is read-only: give the URL of the primary, or make room on its disk');
  }
}

/** Whether the connection has ended, is about to, or holds plans that no longer fit. */
function leavesUnusable(error: unknown, isRolledBack: boolean): boolean {
  const state = sqlStateOf(error);
  if (state === sqlState.stalePlan) return true;
  return error instanceof pg.DatabaseError ? error.severity !== 'ERROR' : state === undefined && !isRolledBack;
}

/** One time zone for every session, so that date arithmetic does not depend on the server's settings. */
function sessionSettings(options: ServerOptions): string {
  const statementTimeoutMs = Math.trunc(options.statementTimeoutMs ?? defaultStatementTimeoutMs);
  const idleTransactionTimeoutMs = Math.trunc(options.idleTransactionTimeoutMs ?? 60_000);
  return [
    `set timezone to 'UTC'`,
    // Compiling a page of a list took 200 ms where running it takes 0.2: our statements are short and prepared.
    'set jit to off',
    `set statement_timeout to ${statementTimeoutMs}`,
    `set idle_in_transaction_session_timeout to ${idleTransactionTimeoutMs}`,
  ].join(';');
}

function describeAddress(url: string): string {
  if (!URL.canParse(url))
    throw new TypeError('the database URL is not a URL: use postgres://user:password@host:port/database');
  const { host, pathname } = new URL(url);
  return `${host || 'localhost'}${pathname}`;
}
