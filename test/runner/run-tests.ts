/**
 * Runs test files: worker processes take them from one queue, and what each process makes once (a platform, a database) its
 * files share. `node test/runner/run-tests.ts [--selection all|process|embedded|server|stores] [--workers N] [FILE OR GLOB
 * …]`; files that are named run whatever selection they belong to. The exit code is 1 when anything failed, or no test ran.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheFolder } from '../support/cache-folder.ts';
import { keepDurations, orderTasks } from './order-tasks.ts';
import { countOutcomes, describeFile, describeRun, type TaskReport } from './report.ts';
import {
  isWaiting,
  reasonToRunAlone,
  root,
  SELECTIONS,
  STORES,
  type Store,
  selectTasks,
  type Task,
} from './select-files.ts';
import { TaskQueue } from './task-queue.ts';
import { WorkerProcess } from './worker-process.ts';

const CORES = availableParallelism();
/** A worker needs up to a gigabyte. */
const MAX_WORKERS = 8;
/**
 * Processes that take files, unless the caller says how many. Files of `all` compute for two thirds of their time; those of real
 * processes wait for most of it. More on a server would need more connections than PostgreSQL has by itself.
 */
const WORKERS = {
  all: Math.min(MAX_WORKERS, CORES + 1),
  process: Math.min(MAX_WORKERS, CORES + 1),
  embedded: Math.min(MAX_WORKERS, CORES + 1),
  server: 2,
  stores: Math.min(MAX_WORKERS, CORES + 2),
} as const;
/** Of one file with all its tests. Those of real processes wait for them to start, drain and recover. */
const LIMIT_MS = { all: 300_000, process: 600_000, embedded: 600_000, server: 600_000, stores: 600_000 } as const;

interface Run {
  readonly queue: TaskQueue;
  readonly total: number;
  readonly scratch: string;
  readonly limitMs: number;
  readonly reports: TaskReport[];
  /** Failures that are no test's. */
  readonly troubles: string[];
  /** Processes that have run a file, and may run more. */
  readonly idle: Record<Store, WorkerProcess[]>;
  started: number;
}

function startWorker(run: Run, store: Store): WorkerProcess {
  run.started += 1;
  return new WorkerProcess({
    cwd: root,
    scratch: join(run.scratch, String(run.started)),
    variables: store === 'server' ? {} : { IRONCRAFT_TEST_DATABASE_URL: undefined },
    onOutput: (text) => process.stdout.write(text),
    onTrouble: (text) => void run.troubles.push(text),
  });
}

/** Takes tasks until none that it wants is left. A worker that died with its file is replaced. */
async function work(run: Run, wanted: (task: Task) => boolean): Promise<void> {
  for (let task = run.queue.take(wanted); task !== undefined; task = run.queue.take(wanted)) {
    const { file, store } = task;
    const isAlone = reasonToRunAlone(file) !== undefined;
    const worker = (isAlone ? undefined : run.idle[store].pop()) ?? startWorker(run, store);
    const report = { ...(await worker.run(file, run.limitMs)), store };
    run.queue.end(task);
    run.reports.push(report);
    console.log(describeFile(report, run.reports.length, run.total));
    if (isAlone) await worker.end();
    else if (worker.isAlive) run.idle[store].push(worker);
    await endIdle(run);
  }
}

/** What processes share takes memory, and some of the processor, for as long as they live. */
async function endIdle({ queue, idle }: Run): Promise<void> {
  const needless = STORES.filter((store) => !queue.has(store)).flatMap((store) => idle[store].splice(0));
  await Promise.all(needless.map((worker) => worker.end()));
}

const waits = ({ file }: Task): boolean => isWaiting(file);
const computes = (task: Task): boolean => !waits(task);

/** What each of those wants that take tasks: beside three workers or more there is one for the files that wait. */
function chooseTurns(workers: number): ((task: Task) => boolean)[] {
  const turns = Array.from({ length: workers }, () => (workers < 3 ? () => true : computes));
  return workers < 3 ? turns : [waits, ...turns];
}

async function runTasks(tasks: readonly Task[], workers: number, limitMs: number): Promise<number> {
  const startMs = performance.now();
  const run: Run = {
    queue: new TaskQueue(orderTasks(tasks)),
    total: tasks.length,
    limitMs,
    // Short, as are the names inside: the path of a socket has no more than 104 characters on macOS.
    scratch: mkdtempSync(join(tmpdir(), 'ic-')),
    reports: [],
    troubles: [],
    idle: { embedded: [], server: [] },
    started: 0,
  };
  // Root's boxes of commands have users of their own, who pass through it.
  chmodSync(run.scratch, 0o711);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      rmSync(run.scratch, { recursive: true, force: true });
      process.exit(128 + constants.signals[signal]);
    });
  }
  await Promise.all(chooseTurns(Math.min(workers, tasks.length)).map((wanted) => work(run, wanted)));
  rmSync(run.scratch, { recursive: true, force: true });
  keepDurations(run.reports);
  console.log(describeRun(run.reports, run.troubles, performance.now() - startMs));
  const { tests, failed } = countOutcomes(run.reports);
  if (tests === 0) console.log('No test ran.');
  return tests === 0 || failed > 0 || run.troubles.length > 0 ? 1 : 0;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { selection: { type: 'string', default: 'all' }, workers: { type: 'string' } },
});
const selection = SELECTIONS.find((name) => name === values.selection);
if (selection === undefined) throw new Error(`--selection is one of ${SELECTIONS.join(', ')}`);
const workers = Number(values.workers ?? WORKERS[selection]);
if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers is a number of processes, 1 or more');
// A process that starts loads what another has compiled; those that tests start inherit it.
process.env.NODE_COMPILE_CACHE ??= join(cacheFolder, 'compiled');
process.exitCode = await runTasks(selectTasks(selection, positionals), workers, LIMIT_MS[selection]);
