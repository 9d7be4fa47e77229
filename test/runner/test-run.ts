/** One run of test files by worker processes: what is under way, what came of it, and what is tried once more. */
import { join } from 'node:path';
import { runSeed } from '../support/seed.ts';
import { ExclusiveTurn } from './exclusive-turn.ts';
import { type FlakyTest, mayBeChance, nameTest, readFlakyTests, writeFlakyTests } from './flaky-tests.ts';
import type { Outcome } from './messages.ts';
import { describeFile, type TaskReport } from './report.ts';
import { isWaiting, reasonToRunAlone, ringOf, root, STORES, type Store, type Task } from './select-files.ts';
import { TaskQueue } from './task-queue.ts';
import { WorkerProcess } from './worker-process.ts';

/** What files leave behind in a process makes each collection of garbage longer: past a gigabyte it is half of what tests compute. */
const MAX_RESIDENT_BYTES = 768 * 1_048_576;

export interface TestRunOptions {
  /** A folder for what workers and their files leave behind. */
  readonly scratch: string;
  /** For one file with all its tests. */
  readonly limitMs: (file: string) => number;
  /** Whether files are begun once one has failed. */
  readonly keepGoing: boolean;
  /** Where the tests that have failed by chance before are listed, and those of this run are added. */
  readonly flakyFile: string;
  /** Whether a file of the gate that failed is run once more. */
  readonly retries: boolean;
  /** A worker process that has grown beyond this gets no further file. Default 768 MiB. */
  readonly maxResidentBytes?: number;
}

export class TestRun {
  readonly reports: TaskReport[] = [];
  /** Failures that are no test's. */
  readonly troubles: string[] = [];
  /** Files of one store that were not run, as others had failed. */
  readonly unrun: Task[] = [];
  /** Tests of earlier runs and of this one. */
  readonly flaky: FlakyTest[];
  readonly #options: TestRunOptions;
  readonly #queue: TaskQueue;
  readonly #total: number;
  readonly #turn = new ExclusiveTurn();
  /** Processes that have run a file, and may run more. */
  readonly #idle: Record<Store, WorkerProcess[]> = { embedded: [], server: [] };
  #started = 0;

  constructor(tasks: readonly Task[], options: TestRunOptions) {
    this.#options = options;
    this.#queue = new TaskQueue(tasks);
    this.#total = tasks.length;
    this.flaky = readFlakyTests(options.flakyFile);
  }

  async runAll(workers: number): Promise<void> {
    await Promise.all(chooseTurns(Math.min(workers, this.#total)).map((wanted) => this.#work(wanted)));
    for (let task = this.#queue.take(); task !== undefined; task = this.#queue.take()) {
      this.unrun.push(task);
      this.#queue.end(task);
    }
    await this.#endWorkers(STORES);
  }

  /** Takes tasks until none that it wants is left. A worker that died with its file is replaced. */
  async #work(wanted: (task: Task) => boolean): Promise<void> {
    for (let task = this.#take(wanted); task !== undefined; task = this.#take(wanted)) {
      const current = task;
      const first = await this.#turn.share(() => this.#runTask(current));
      const report = this.#isWorthRetry(first) ? await this.#turn.alone(() => this.#retry(first)) : first;
      this.#queue.end(task);
      this.reports.push(report);
      console.log(describeFile(report, this.reports.length, this.#total));
      await this.#endWorkers(STORES.filter((store) => !this.#queue.has(store)));
    }
  }

  #take(wanted: (task: Task) => boolean): Task | undefined {
    const mayBegin = this.#options.keepGoing || !this.reports.some(hasFailed);
    return mayBegin ? this.#queue.take(wanted) : undefined;
  }

  async #runTask({ file, store }: Task): Promise<TaskReport> {
    if (reasonToRunAlone(file) !== undefined) return this.#runAlone({ file, store });
    const worker = this.#idle[store].pop() ?? this.#startWorker(store);
    const report = await worker.run(file, this.#options.limitMs(file));
    const isTooLarge = report.residentBytes > (this.#options.maxResidentBytes ?? MAX_RESIDENT_BYTES);
    if (isTooLarge) await worker.end();
    else if (worker.isAlive) this.#idle[store].push(worker);
    return { ...report, store };
  }

  async #runAlone({ file, store }: Task): Promise<TaskReport> {
    const worker = this.#startWorker(store);
    const report = await worker.run(file, this.#options.limitMs(file));
    await worker.end();
    return { ...report, store };
  }

  #isWorthRetry(report: TaskReport): boolean {
    const failed = failedOf(report);
    return (
      this.#options.retries &&
      ringOf(report.file) === 'gate' &&
      failed.length > 0 &&
      mayBeChance(report.file, failed, this.flaky)
    );
  }

  /** In a process of its own, beside no other. What passes now is flaky; what fails again has failed. */
  async #retry(first: TaskReport): Promise<TaskReport> {
    const { file, store } = first;
    console.log(`${file} failed (${failedOf(first).map(nameTest).join('; ')}). Once more, alone:`);
    const second = await this.#runAlone({ file, store });
    if (hasFailed(second)) return second;
    const date = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);
    for (const outcome of failedOf(first)) this.flaky.push({ file, test: nameTest(outcome), seed: runSeed, date });
    writeFlakyTests(this.#options.flakyFile, this.flaky);
    const errors = failedOf(first).map(
      ({ path, error }) => `failed once, and passed alone: ${path.join(' › ')}\n${error}`,
    );
    return { ...second, diagnostics: [...second.diagnostics, ...errors] };
  }

  #startWorker(store: Store): WorkerProcess {
    this.#started += 1;
    return new WorkerProcess({
      cwd: root,
      scratch: join(this.#options.scratch, String(this.#started)),
      variables: store === 'server' ? {} : { IRONCRAFT_TEST_DATABASE_URL: undefined },
      onOutput: (text) => process.stdout.write(text),
      onTrouble: (text) => void this.troubles.push(text),
    });
  }

  /** What processes share takes memory, and some of the processor, for as long as they live. */
  async #endWorkers(stores: readonly Store[]): Promise<void> {
    await Promise.all(stores.flatMap((store) => this.#idle[store].splice(0)).map((worker) => worker.end()));
  }
}

function failedOf({ outcomes }: TaskReport): Outcome[] {
  return outcomes.filter(({ state }) => state === 'failed');
}

function hasFailed(report: TaskReport): boolean {
  return failedOf(report).length > 0;
}

const waits = ({ file }: Task): boolean => isWaiting(file);
const computes = (task: Task): boolean => !waits(task);

/** What each of those wants that take tasks: beside three workers or more there is one for the files that wait. */
function chooseTurns(workers: number): ((task: Task) => boolean)[] {
  const turns = Array.from({ length: workers }, () => (workers < 3 ? () => true : computes));
  return workers < 3 ? turns : [waits, ...turns];
}
