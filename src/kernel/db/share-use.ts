/**
 * The use of a server store, of which its processes tell each other: what one leaves undone, another must look for. Nobody tells of
 * what a process has changed right before it died, or a person by hand: while nothing is heard of, PostgreSQL is asked whether any row has changed.
 */
import { randomUUID } from 'node:crypto';
import { elapsedMs, setTimer, type Timer } from '../clock/timers.ts';
import type { Database } from './database.ts';
import type { StoreLogger } from './session.ts';
import { StoreUse } from './store-use.ts';

const CHANNEL = 'store_used';
const TELL_EVERY_MS = 2_000;

export interface ShareUseOptions {
  /** Tables, with their schemas, of what processes note down for themselves: a change of theirs is no use. */
  readonly bookkeeping: readonly string[];
  readonly logger: StoreLogger | undefined;
}

/** Listens and asks once somebody waits for a use. */
export function shareUse(db: Pick<Database, 'query' | 'notify' | 'listen'>, options: ShareUseOptions): StoreUse {
  return new SharedUse(db, options);
}

class SharedUse extends StoreUse {
  readonly #db: Pick<Database, 'query' | 'notify' | 'listen'>;
  readonly #options: ShareUseOptions;
  readonly #ownId = randomUUID();
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #nextTelling: Timer | undefined;
  #listening: Promise<unknown> | undefined;
  #isCounting = false;
  /** Row changes when they were last counted. */
  #changes: string | undefined;

  constructor(db: Pick<Database, 'query' | 'notify' | 'listen'>, options: ShareUseOptions) {
    super();
    this.#db = db;
    this.#options = options;
  }

  override note(): void {
    this.noteHere();
    // The clock of the store: replicas in one process may have clocks of their own, and the store is theirs together.
    if (this.#nextTelling === undefined) this.inOwnContext(() => this.#tellOrWait());
  }

  /** The last use of a burst is told as well: others have looked after the first, and would not look again. */
  #tellOrWait(): void {
    const waitMs = this.#toldAtMs + TELL_EVERY_MS - elapsedMs();
    if (waitMs <= 0) this.#tell();
    else this.#nextTelling = setTimer(() => this.#tell(), waitMs);
  }

  #tell(): void {
    this.#nextTelling = undefined;
    this.#toldAtMs = elapsedMs();
    this.#db.notify(CHANNEL, this.#ownId).catch((error: unknown) => {
      this.#options.logger?.warn(
        { err: error },
        'other processes were not told that the store is used; they look by themselves',
      );
    });
  }

  override onNextUse(onUse: () => void): () => void {
    this.#listening ??= this.#listen();
    const takeBack = super.onNextUse(onUse);
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.checkAtOnce();
    }
    return takeBack;
  }

  override close(): void {
    super.close();
    this.#nextTelling?.cancel();
  }

  async #listen(): Promise<void> {
    const noteOthers = (id?: string) => {
      if (id !== this.#ownId) this.noteHere();
    };
    try {
      await this.#db.listen(CHANNEL, noteOthers, () => noteOthers());
    } catch {
      // It is tried again with the next that waits.
      this.#listening = undefined;
    }
  }

  /**
   * Changes of this process are among those that are counted: what it has done since the last time counts as a use once more. A connection
   * tells of its changes up to ten seconds after it has made them.
   */
  protected override async wasUsedUnseen(): Promise<boolean> {
    const before = this.#changes;
    try {
      this.#changes = await readChanges(this.#db, this.#options.bookkeeping);
    } catch (error) {
      this.#options.logger?.warn({ err: error }, 'whether others use the store was not read; it is tried again');
      return false;
    }
    return this.#changes === undefined || this.#changes !== before;
  }
}

/** A number that is another once rows have changed; undefined on a server that does not count them. */
async function readChanges(db: Pick<Database, 'query'>, bookkeeping: readonly string[]): Promise<string | undefined> {
  const { rows } = await db.query<{ changes: string; is_counted: boolean }>({
    text: `
      select current_setting('track_counts') = 'on' as is_counted, coalesce(sum(
        pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid)), 0)::text as changes
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'jobs')
        and n.nspname || '.' || c.relname <> all ($1)`,
    values: [bookkeeping],
  });
  return rows[0]?.is_counted === true ? rows[0].changes : undefined;
}
