/**
 * Reports finished jobs to the database. Those that finish while one report is in flight share the next: under load one
 * statement settles many jobs. A report that fails is tried again, for as long as the process lives where it is the store that
 * fails: what has run should not run again. Until it arrives the job counts as running.
 */
import type { PgBoss } from 'pg-boss';
import { sleep } from '../clock/timers.ts';
import type { Database } from '../db/database.ts';
import { isStoreUnavailable } from '../db/sql-errors.ts';
import { backoffMs } from '../retry/backoff.ts';
import { endRetries, forgetAbruptEnds, giveBack } from './abrupt-ends.ts';
import type { Claim, JobsLogger } from './job.ts';

const attempts = 5;
const retryBackoff = { firstMs: 200, longestMs: 800 } as const;

interface Failure {
  readonly claim: Claim;
  readonly reason: string;
  /** The job does not run again, though its queue has retries left. */
  readonly forGood: boolean;
}

export interface SettlementsOptions {
  readonly db: Database;
  readonly name: string;
  readonly logger: JobsLogger;
  /** Called once failed jobs are reported: one may be ready to run again at once. */
  readonly onFailed: () => void;
}

export class Settlements {
  readonly #boss: PgBoss;
  readonly #db: Database;
  readonly #name: string;
  readonly #logger: JobsLogger;
  readonly #onFailed: () => void;
  #completed: Claim[] = [];
  #failed: Failure[] = [];
  #givenBack: Claim[] = [];
  #flushing: Promise<void> | undefined;
  #isStopping = false;

  constructor(boss: PgBoss, { db, name, logger, onFailed }: SettlementsOptions) {
    this.#boss = boss;
    this.#db = db;
    this.#name = name;
    this.#logger = logger;
    this.#onFailed = onFailed;
  }

  complete(claim: Claim): void {
    this.#completed.push(claim);
    this.#start();
  }

  fail(claim: Claim, reason: string, { forGood = false }: { readonly forGood?: boolean } = {}): void {
    this.#failed.push({ claim, reason, forGood });
    this.#start();
  }

  /** The job runs again, and this counts as no run of it. */
  giveBack(claim: Claim): void {
    this.#givenBack.push(claim);
    this.#start();
  }

  /** At the end. Resolves when everything reported so far has arrived or was given up. */
  async flushed(): Promise<void> {
    this.#isStopping = true;
    while (this.#flushing !== undefined) await this.#flushing;
  }

  #start(): void {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  async #flush(): Promise<void> {
    while (this.#completed.length + this.#failed.length + this.#givenBack.length > 0) {
      const completed = this.#completed;
      const failed = this.#failed;
      const givenBack = this.#givenBack;
      this.#completed = [];
      this.#failed = [];
      this.#givenBack = [];
      if (completed.length > 0) await this.#report(() => this.#boss.complete(this.#name, completed));
      if (givenBack.length > 0) await this.#report(() => giveBack(this.#db, this.#name, givenBack));
      for (const failure of failed) await this.#report(() => this.#reportFailure(failure));
      if (failed.length > 0) this.#onFailed();
    }
  }

  async #reportFailure({ claim, reason, forGood }: Failure): Promise<void> {
    if (forGood) await endRetries(this.#db, this.#name, claim);
    await this.#boss.fail(this.#name, [claim], { message: reason });
    if (forGood) await forgetAbruptEnds(this.#db, claim.id);
  }

  async #report(send: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await send();
        return;
      } catch (error) {
        if (attempt >= attempts && (this.#isStopping || !isStoreUnavailable(error))) {
          this.#logger.error(
            { err: error, job: this.#name },
            'a finished job could not be reported and will run again',
          );
          return;
        }
        await sleep(backoffMs(attempt, retryBackoff));
      }
    }
  }
}
