/**
 * What PostgreSQL's background processes do and PGlite, which has none, does not: checkpoints, without which the WAL grows
 * for ever and a restart after a crash replays all of it; vacuum, without which tables that change a lot (jobs, leases)
 * grow; and statistics, without which a plan that was made for a table of ten rows stays when it has a million.
 *
 *   STATEMENTS_A_PASS statements ──a second later──▶ pass ──did something──▶ pass …
 *                                                     └──large tables wait──▶ is the store quiet? ──▶ pass that takes one of them
 *
 * A pass holds the one connection, so it does one thing that takes milliseconds. What takes longer (`maintenance-tasks.ts`) waits until the
 * store is quiet. Nothing happens in a store that nobody uses.
 */
import { setTimer, type Timer } from '../clock/timers.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../periodic/periodic-worker.ts';
import type { Executor } from './database.ts';
import { chooseTask, type MaintenanceTask, readNeeds, runTask } from './maintenance-tasks.ts';
import type { StoreLogger } from './session.ts';

const STATEMENTS_A_PASS = 500;
const PASS_AFTER_MS = 1_000;
const NEXT_PASS_MS = 100;
/** A store is quiet when it has run at most so many statements in this time. */
const QUIET = { statements: 100, ms: 10_000 } as const;
/** A quiet store stays quiet, between two large tables, while it runs at most so many in this time. */
const STILL_QUIET = { statements: 50, ms: 1_000 } as const;

export interface EmbeddedMaintenance {
  /** Call for each statement and each transaction. */
  noteStatement(): void;
  stop(): Promise<void>;
}

export function createEmbeddedMaintenance(db: Executor, logger: StoreLogger | undefined): EmbeddedMaintenance {
  return new Maintenance(db, logger);
}

class Maintenance implements EmbeddedMaintenance {
  readonly #db: Executor;
  readonly #worker: PeriodicWorker;
  #statements = 0;
  /** Of them, those that had run when a pass was last asked for. */
  #seen = 0;
  #nextPass: Timer | undefined;
  #quietLook: Timer | undefined;
  #isQuiet = false;
  /** Whether the store was quiet at the last look. */
  #wasQuiet = false;
  /** Since statements asked for a pass: what has been done and did not help is not done again. */
  #done = new Set<string>();

  constructor(db: Executor, logger: StoreLogger | undefined) {
    this.#db = db;
    this.#worker = createPeriodicWorker({
      name: 'maintenance of the embedded store',
      startsAtOnce: false,
      pass: () => this.#pass(),
      logger,
    });
    this.#worker.start();
  }

  noteStatement(): void {
    this.#statements += 1;
    if (this.#statements - this.#seen < STATEMENTS_A_PASS) return;
    this.#seen = this.#statements;
    this.#done.clear();
    this.#passAfter(PASS_AFTER_MS);
  }

  stop(): Promise<void> {
    this.#nextPass?.cancel();
    this.#quietLook?.cancel();
    return this.#worker.stop();
  }

  #passAfter(delayMs: number): void {
    this.#nextPass ??= setTimer(() => {
      this.#nextPass = undefined;
      this.#worker.wake();
    }, delayMs);
  }

  async #pass(): Promise<void> {
    const isQuiet = this.#isQuiet;
    this.#isQuiet = false;
    const needs = await readNeeds(this.#db);
    const { task, waits } = chooseTask(needs, { isQuiet, isDone: (each) => this.#done.has(nameTask(each)) });
    if (task !== undefined) {
      this.#done.add(nameTask(task));
      await runTask(this.#db, task);
      this.#passAfter(NEXT_PASS_MS);
    } else if (waits) this.#lookWhetherQuiet(this.#wasQuiet ? STILL_QUIET : QUIET);
  }

  #lookWhetherQuiet({ statements, ms }: typeof QUIET | typeof STILL_QUIET): void {
    const before = this.#statements;
    this.#quietLook ??= setTimer(() => {
      this.#quietLook = undefined;
      this.#isQuiet = this.#statements - before <= statements;
      this.#wasQuiet = this.#isQuiet;
      if (this.#isQuiet) this.#worker.wake();
      else this.#lookWhetherQuiet(QUIET);
    }, ms);
  }
}

function nameTask(task: MaintenanceTask): string {
  return task.kind === 'checkpoint' ? task.kind : `${task.kind} ${task.table}`;
}
