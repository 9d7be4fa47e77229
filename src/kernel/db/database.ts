/**
 * The port to SQL. One dialect (PostgreSQL), two stores: PGlite in a worker thread ("embedded") and a PostgreSQL
 * server ("server"). Nothing above this file knows which one it talks to.
 */
import type { StoreUse } from './store-use.ts';

/**
 * A statement with its values (see `values.ts` for what travels as what). A text that comes again is prepared, under a name
 * that the store makes from the text: no two texts share one. Without values it is a script, which may hold several
 * statements and returns the rows of all of them.
 */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /**
   * False for a text that a caller's request shapes, as a filter does: it is not prepared. `generated` for a text of the
   * query builder: those vary with the lists and filters of requests, so they share a bounded number of names, and take
   * none from the texts that are written by hand.
   */
  readonly prepare?: false | 'generated';
  /**
   * Reads a few rows by their keys, in a moment. Such statements of one turn of the event loop share a connection, each still a
   * transaction of its own: they go out together, and one process of the server answers them all.
   */
  readonly isQuick?: true;
  /** Only takes what there is to do, if anything, so that it leaves no work to others: see `store-use.ts`. */
  readonly isLook?: true;
}

export interface Rows<Row> {
  readonly rows: Row[];
  /** Rows returned or affected. */
  readonly rowCount: number;
}

/** Runs statements: the database (each statement its own transaction) or one open transaction. */
export interface Executor {
  query<Row = Record<string, unknown>>(statement: Statement): Promise<Rows<Row>>;
  /**
   * Sends a wake-up without a payload at once, and one for all who ask within the next 40 ms; in a transaction, once it has
   * committed. For channels whose listeners read the rows anyway.
   */
  wake(channel: string): void;
}

export interface Transaction extends Executor {
  /** Runs once the transaction has committed, in order; never after a rollback. Must not throw. */
  afterCommit(action: () => void): void;
  /** Sends a wake-up that leaves only if the transaction commits. */
  notify(channel: string, payload: string): Promise<void>;
}

export interface Database extends Executor {
  readonly kind: 'embedded' | 'server';
  /** By this process, and by others, of which it hears within seconds. */
  readonly use: StoreUse;
  /** Commits when `work` resolves, rolls back when it rejects. Read committed. Nesting is not supported. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** A wake-up to every replica, this one included. At most 7,900 bytes; only a hint: the rows are the source of truth. */
  notify(channel: string, payload: string): Promise<void>;
  /**
   * Calls `onMessage` for each wake-up. `onGap` is called after a lost and re-made connection, when wake-ups may have
   * been missed and the listener must look at the rows again.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>>;
  /** Rejects when the store does not answer, or takes no change. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
