/**
 * Runs test files: worker processes take them from one queue, and what each process makes once (a platform, a database) its
 * files share. `node test/runner/run-tests.ts [--selection all|process|embedded|server] [--workers N] [FILE OR GLOB
 * …]`; files that are named run whatever selection they belong to. The exit code is 1 when anything failed, or no test ran.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheFolder } from '../support/cache-folder.ts';
import type { FileReport } from './messages.ts';
import { keepDurations, orderFiles } from './order-files.ts';
import { countOutcomes, describeFile, describeRun } from './report.ts';
import { isHeavy, reasonToRunAlone, root, SELECTIONS, selectFiles } from './select-files.ts';
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
} as const;
/** Of one file with all its tests. Those of real processes wait for them to start, drain and recover. */
const LIMIT_MS = { all: 300_000, process: 600_000, embedded: 600_000, server: 600_000 } as const;

interface Run {
  readonly total: number;
  readonly scratch: string;
  readonly limitMs: number;
  readonly reports: FileReport[];
  /** Failures that are no test's. */
  readonly troubles: string[];
  started: number;
  /** Files under way that load the machine with more than their own process. */
  heavy: number;
}

function startWorker(run: Run): WorkerProcess {
  run.started += 1;
  return new WorkerProcess({
    cwd: root,
    scratch: join(run.scratch, String(run.started)),
    onOutput: (text) => process.stdout.write(text),
    onTrouble: (text) => void run.troubles.push(text),
  });
}

/** The next file, or a later one where the next would be one heavy file too many; undefined where nothing is left to take. */
function takeFile(run: Run, queue: string[]): string | undefined {
  const index = queue.findIndex((file) => run.heavy < CORES || !isHeavy(file));
  return index === -1 ? undefined : queue.splice(index, 1)[0];
}

/** Takes files until none is left. A worker that died with its file is replaced. */
async function work(run: Run, queue: string[]): Promise<void> {
  let worker: WorkerProcess | undefined;
  for (let file = takeFile(run, queue); file !== undefined; file = takeFile(run, queue)) {
    const load = isHeavy(file) ? 1 : 0;
    run.heavy += load;
    const alone = reasonToRunAlone(file) === undefined ? undefined : startWorker(run);
    if (alone === undefined && worker?.isAlive !== true) worker = startWorker(run);
    const report = await (alone ?? (worker as WorkerProcess)).run(file, run.limitMs);
    run.heavy -= load;
    run.reports.push(report);
    console.log(describeFile(report, run.reports.length, run.total));
    await alone?.end();
  }
  await worker?.end();
}

async function runFiles(files: readonly string[], workers: number, limitMs: number): Promise<number> {
  const startMs = performance.now();
  const run: Run = {
    total: files.length,
    limitMs,
    // Short, as are the names inside: the path of a socket has no more than 104 characters on macOS.
    scratch: mkdtempSync(join(tmpdir(), 'ic-')),
    reports: [],
    troubles: [],
    started: 0,
    heavy: 0,
  };
  // Root's boxes of commands have users of their own, who pass through it.
  chmodSync(run.scratch, 0o711);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      rmSync(run.scratch, { recursive: true, force: true });
      process.exit(128 + constants.signals[signal]);
    });
  }
  const queue = orderFiles(files);
  await Promise.all(Array.from({ length: Math.min(workers, files.length) }, () => work(run, queue)));
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
process.exitCode = await runFiles(selectFiles(selection, positionals), workers, LIMIT_MS[selection]);
