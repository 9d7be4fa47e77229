/**
 * Counts the readings of a file that ended abruptly, in its row, so that neither this process nor another goes on with a
 * file that ends whoever reads it. A step of the reading is counted while it lasts, and taken back when it ends in order,
 * as it does when the server stops:
 *
 *   armed ─ is slow, or the file is suspect ─▶ counted ─ the step ends ─▶ taken back
 *                                                 └─ the child crashes, or this process ends ─▶ stays
 *
 * Most steps take milliseconds and are over before they are counted: that a process ended in one of them says little about
 * the file. Once it has been under way at an abrupt end it is suspect, and every step is counted before it begins.
 */
import { setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { IngestJob } from './dispatch-files.ts';

/** A step that takes longer is counted. */
const SLOW_STEP_MS = 200;

export class ReadingMark {
  readonly #db: Database;
  readonly #job: IngestJob;
  readonly #suspect: boolean;
  #timer: Timer | undefined;
  #counted = false;
  #crashed = false;
  /** The writes, one after the other. */
  #written: Promise<void> = Promise.resolve();

  constructor(db: Database, job: IngestJob, suspect: boolean) {
    this.#db = db;
    this.#job = job;
    this.#suspect = suspect;
  }

  /** A step begins. For a suspect it resolves once the count is stored. */
  async arm(): Promise<void> {
    if (this.#suspect) await this.#count(1);
    // What keeps it from being stored will be met by the statements that follow.
    else this.#timer = setTimer(() => this.#count(1).catch(() => undefined), SLOW_STEP_MS);
  }

  /** The step has ended in order. */
  async disarm(): Promise<void> {
    this.#timer?.cancel();
    await this.#count(0);
  }

  /** The step has ended with the child's crash. How many abrupt ends there are, `before` this reading and with it. */
  async crash(before: number): Promise<number> {
    this.#timer?.cancel();
    await this.#count(1);
    this.#crashed = true;
    return before + 1;
  }

  /** The reading is over, in whatever way. */
  async end(): Promise<void> {
    if (!this.#crashed) await this.disarm();
  }

  #count(target: 0 | 1): Promise<void> {
    this.#written = this.#written
      .catch(() => undefined)
      .then(async () => {
        if (this.#counted === (target === 1)) return;
        const { projectId, vectorStoreId, fileId, position } = this.#job;
        await this.#db.query({
          text: `update vector_store_files set abrupt_ends = greatest(abrupt_ends + $5::int, 0), updated_at = now()
                 where project_id = $1 and vector_store_id = $2 and file_id = $3 and position = $4
                   and status = 'in_progress'`,
          values: [projectId, vectorStoreId, fileId, position, target === 1 ? 1 : -1],
        });
        this.#counted = target === 1;
      });
    return this.#written;
  }
}
