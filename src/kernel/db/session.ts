/**
 * What both stores do alike once they hold a connection: run a statement, run a transaction.
 *
 * Connections are in pipeline mode: statements are written without waiting for the answer to the one before, and answered
 * in order. So BEGIN and the first statement of a transaction share a round trip.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import { type RestartableTimer, setTimer } from '../clock/timers.ts';
import type { Rows, Statement, Transaction } from './database.ts';
import { isUse } from './looks.ts';
import { PreparedNames } from './prepared-names.ts';
import { describeStatementError } from './sql-errors.ts';
import { encodeValues } from './values.ts';

/** Wake-ups are small: PostgreSQL refuses a payload of 8,000 bytes or more. */
const maxNotifyBytes = 7_900;
const maxChannelBytes = 63;

/** The part of the application's logger that the stores use. */
export interface StoreLogger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Scope {
  readonly owner: object;
  open: boolean;
}

const openTransaction = new AsyncLocalStorage<Scope>();

/**
 * The embedded store has one connection, so a statement beside the transaction that awaits it would wait for ever; a
 * small pool deadlocks the same way under load. Refused on both stores, so that it is found on either.
 */
export function refuseInsideTransaction(owner: object, what: string): void {
  const scope = openTransaction.getStore();
  if (scope?.open === true && scope.owner === owner) {
    throw new Error(`${what} was called inside an open transaction: use the transaction that its callback received`);
  }
}

/** A text without values is a script: it may hold several statements, also BEGIN and COMMIT. */
export function isScript(statement: Statement): boolean {
  return statement.values === undefined;
}

/** For the whole process: a text has the same name on every connection. */
const writtenNames = new PreparedNames('written', 2_000);
const generatedNames = new PreparedNames('generated', 500);

// Without it `pg` sends a text that has no values as a script.
const extended = { queryMode: 'extended' } as const;
/** What a script does may take long, as it can set the server's timeout itself. The longest that a timer can wait. */
const patient = { query_timeout: 2 ** 31 - 1 } as const;

/** A script returns the rows of all its statements, one after the other. A lost connection is a `StoreUnavailableError`. */
export async function runStatement<Row>(client: pg.ClientBase, statement: Statement): Promise<Rows<Row>> {
  const { text, values, prepare } = statement;
  let answer: pg.QueryResult | pg.QueryResult[];
  if (values === undefined) answer = await send(client.query({ text, ...patient }));
  else {
    const name = prepare === false ? undefined : (prepare === 'generated' ? generatedNames : writtenNames).nameOf(text);
    answer = await send(
      client.query({
        ...(name !== undefined && { name }),
        text,
        values: encodeValues(values),
        ...extended,
      }),
    );
  }
  // The row's shape is the caller's claim about its own SQL: the wire carries no types to check it against.
  if (!Array.isArray(answer)) return { rows: answer.rows as Row[], rowCount: answer.rowCount ?? answer.rows.length };
  const rows = answer.flatMap((result) => result.rows as Row[]);
  return { rows, rowCount: answer.at(-1)?.rowCount ?? rows.length };
}

async function send<Answer>(answered: Promise<Answer>): Promise<Answer> {
  try {
    return await answered;
  } catch (error) {
    throw describeStatementError(error);
  }
}

/** Runs a script on a connection that nothing else uses meanwhile, and never leaves its BEGIN open. */
export async function runScript<Row>(client: pg.ClientBase, script: Statement): Promise<Rows<Row>> {
  try {
    return await runStatement<Row>(client, script);
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function notifyStatement(channel: string, payload: string): Statement {
  return { text: 'select pg_notify($1, $2)', values: checkNotification(channel, payload) };
}

/**
 * For a wake-up that is a transaction of its own: committed without a wait for the disk. It may be lost in a crash, and the
 * wait would hold up every other commit.
 */
export function notifyAloneStatement(channel: string, payload: string): Statement {
  const text = `select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`;
  return { text, values: checkNotification(channel, payload) };
}

function checkNotification(channel: string, payload: string): [string, string] {
  const bytes = Buffer.byteLength(payload);
  if (bytes > maxNotifyBytes) {
    throw new RangeError(
      `a wake-up carries at most ${maxNotifyBytes} bytes and this one has ${bytes}: send an id and read the row`,
    );
  }
  return [checkChannel(channel), payload];
}

export function checkChannel(channel: string): string {
  const bytes = Buffer.byteLength(channel);
  if (bytes === 0 || bytes > maxChannelBytes || channel.includes('\0')) {
    throw new RangeError(`a channel name has 1 to ${maxChannelBytes} bytes: ${JSON.stringify(channel)}`);
  }
  return channel;
}

export interface TransactionOptions {
  /** The database that the transaction is of. */
  readonly owner: object;
  readonly logger: StoreLogger | undefined;
  /** Called before BEGIN and each statement. */
  readonly onSending?: () => void;
  /** Called once COMMIT or ROLLBACK is written: whatever is written next comes after the transaction. */
  readonly onEnding?: () => void;
  /** Called once the store has answered the ROLLBACK: the connection is as before, whatever ended the transaction. */
  readonly onRolledBack?: () => void;
  /** Called when it has ended, where it was a use: see `store-use.ts`. */
  readonly onUsed?: () => void;
  /** Wakes the channel's listeners soon; called once the transaction has committed. */
  readonly wake: (channel: string) => void;
  /** Rolls back a transaction that sends nothing for so long, where the store cannot do it by itself. 0: never. */
  readonly idleTimeoutMs?: number;
}

/**
 * Runs `work` between BEGIN and COMMIT on a connection that nothing else uses meanwhile. Rejects with what `work`
 * rejected with, after the rollback; or because a statement failed and `work` hid it, since nothing was committed then.
 */
export async function runTransaction<T>(
  client: pg.ClientBase,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const open = new OpenTransaction(client, options);
  options.onSending?.();
  const begun = send(client.query('begin'));
  // Awaited after the work; a failure meanwhile also fails the work's own statements.
  begun.catch(() => undefined);
  let committing = false;
  try {
    const result = await Promise.race([openTransaction.run(open.scope, () => work(open)), open.abandoned]);
    await begun;
    open.end();
    committing = true;
    const commit = send(client.query('commit'));
    options.onEnding?.();
    const ended = await commit;
    if (ended.command !== 'COMMIT') {
      throw new Error('nothing was committed: a statement of the transaction failed and its error was not passed on');
    }
    runActions(open.actions, options.logger);
    return result;
  } catch (error) {
    open.end();
    if (!committing) {
      const rollback = client.query('rollback');
      options.onEnding?.();
      // After a lost connection the server rolls back by itself, and the caller needs the first error, not this one.
      await rollback.then(options.onRolledBack, () => undefined);
    }
    throw error;
  } finally {
    if (open.isUse) options.onUsed?.();
  }
}

class OpenTransaction implements Transaction {
  readonly scope: Scope;
  readonly actions: Array<() => void> = [];
  isUse = false;
  /** Rejects when nothing was sent for too long. */
  readonly abandoned: Promise<never>;
  readonly #client: pg.ClientBase;
  readonly #wake: (channel: string) => void;
  readonly #onSending: (() => void) | undefined;
  readonly #idle: RestartableTimer | undefined;
  #inFlight = 0;

  constructor(client: pg.ClientBase, { owner, wake, onSending, idleTimeoutMs = 0 }: TransactionOptions) {
    this.#wake = wake;
    this.#onSending = onSending;
    this.scope = { owner, open: true };
    this.#client = client;
    const { promise, reject } = Promise.withResolvers<never>();
    this.abandoned = promise;
    if (idleTimeoutMs === 0) return;
    const idle = setTimer(
      () => {
        if (this.#inFlight > 0) idle.restart();
        else reject(new Error(`the transaction sent nothing for ${idleTimeoutMs} ms and was rolled back`));
      },
      idleTimeoutMs,
      { keepsProcess: true },
    );
    this.#idle = idle;
  }

  end(): void {
    this.scope.open = false;
    this.#idle?.cancel();
  }

  async query<Row>(statement: Statement): Promise<Rows<Row>> {
    this.#requireOpen();
    this.#inFlight += 1;
    this.#onSending?.();
    let answer: Rows<Row> | undefined;
    try {
      answer = await runStatement<Row>(this.#client, statement);
      return answer;
    } finally {
      this.isUse ||= isUse(statement, answer);
      this.#inFlight -= 1;
      if (this.scope.open) this.#idle?.restart();
    }
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(notifyStatement(channel, payload));
  }

  wake(channel: string): void {
    this.afterCommit(() => this.#wake(channel));
  }

  afterCommit(action: () => void): void {
    this.#requireOpen();
    this.actions.push(action);
  }

  #requireOpen(): void {
    if (!this.scope.open)
      throw new Error('the transaction has ended: await every statement before its callback returns');
  }
}

function runActions(actions: ReadonlyArray<() => void>, logger: StoreLogger | undefined): void {
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      logger?.error({ err: error }, 'an after-commit action threw; the transaction is committed');
    }
  }
}
