/** The use of a server store, of which its processes tell each other: what one leaves undone, another must look for. */
import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';
import type { StoreLogger } from './session.ts';
import { StoreUse } from './store-use.ts';

const CHANNEL = 'store_used';
const TELL_EVERY_MS = 2_000;

/** Listens as soon as somebody waits for a use. */
export function shareUse(db: Pick<Database, 'notify' | 'listen'>, logger: StoreLogger | undefined): StoreUse {
  return new SharedUse(db, logger);
}

class SharedUse extends StoreUse {
  readonly #db: Pick<Database, 'notify' | 'listen'>;
  readonly #logger: StoreLogger | undefined;
  readonly #ownId = randomUUID();
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #listening: Promise<unknown> | undefined;

  constructor(db: Pick<Database, 'notify' | 'listen'>, logger: StoreLogger | undefined) {
    super();
    this.#db = db;
    this.#logger = logger;
  }

  override note(): void {
    super.note();
    // The machine's time: replicas in one process may have clocks of their own, and the store is theirs together.
    const nowMs = performance.now();
    if (nowMs - this.#toldAtMs < TELL_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    this.#db.notify(CHANNEL, this.#ownId).catch((error: unknown) => {
      this.#logger?.warn(
        { err: error },
        'other processes were not told that the store is used; they look by themselves',
      );
    });
  }

  override onNextUse(onUse: () => void): () => void {
    this.#listening ??= this.#listen();
    return super.onNextUse(onUse);
  }

  async #listen(): Promise<void> {
    const noteOthers = (id?: string) => {
      if (id !== this.#ownId) super.note();
    };
    try {
      await this.#db.listen(CHANNEL, noteOthers, () => noteOthers());
    } catch {
      // It is tried again with the next that waits.
      this.#listening = undefined;
    }
  }
}
