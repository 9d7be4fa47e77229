/**
 * Runs test files: worker processes take them from one queue, and what each process makes once (a platform, a database) its
 * files share. `npm run test:all -- [--ring gate|soak] [--keep-going] [--workers N] [FILE OR GLOB …]`; files that are
 * named run whatever ring they belong to. The gate ends at the first true failure unless it is to keep going; the exit code is 1
 * when anything failed or no test ran, 2 when it is called wrongly.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheFolder } from '../support/cache-folder.ts';
import { runSeed } from '../support/seed.ts';
import { findChangedFiles, measureDistances } from './changed-files.ts';
import { findWrongEntries } from './flaky-tests.ts';
import { keepDurations, orderTasks } from './order-tasks.ts';
import { countOutcomes, describeRun } from './report.ts';
import { RINGS, type Ring, ringOf, root, selectTasks } from './select-files.ts';
import { TestRun } from './test-run.ts';
import { tellUsage, UsageError } from './usage-error.ts';

/** A worker needs up to a gigabyte. */
const MAX_WORKERS = 8;
/** Files compute for two thirds of their time; more workers on a server would need more connections than PostgreSQL has by itself. */
const DEFAULT_WORKERS = Math.min(MAX_WORKERS, availableParallelism() + 1);
/** For one file with all its tests, so that a test that hangs ends. */
const LIMIT_MS: Readonly<Record<Ring, number>> = { gate: 600_000, soak: 3_600_000 };

interface Settings {
  readonly ring: Ring;
  readonly keepGoing: boolean;
  readonly workers: number;
  readonly patterns: readonly string[];
  readonly flakyFile: string;
}

function readSettings(): Settings {
  const { values, positionals: patterns } = parseArgs({
    allowPositionals: true,
    options: {
      ring: { type: 'string', default: 'gate' },
      'keep-going': { type: 'boolean', default: false },
      workers: { type: 'string', default: String(DEFAULT_WORKERS) },
      // For the tests of the runner itself.
      'flaky-file': { type: 'string', default: join(root, 'test/flaky.json') },
    },
  });
  const ring = RINGS.find((name) => name === values.ring);
  if (ring === undefined) throw new UsageError(`--ring is one of ${RINGS.join(', ')}`);
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new UsageError('--workers is a number of processes, 1 or more');
  return {
    ring,
    keepGoing: values['keep-going'] || ring === 'soak',
    workers,
    patterns,
    flakyFile: values['flaky-file'],
  };
}

/** Removed with the run, also where it is ended from outside. Short, as the path of a socket has at most 104 characters on macOS. */
function makeScratch(): string {
  const scratch = mkdtempSync(join(tmpdir(), 'ic-'));
  // Root's sandboxes of commands have users of their own, who pass through it.
  chmodSync(scratch, 0o711);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      rmSync(scratch, { recursive: true, force: true });
      process.exit(128 + constants.signals[signal]);
    });
  }
  return scratch;
}

async function runTasks({ ring, keepGoing, workers, patterns, flakyFile }: Settings): Promise<number> {
  const startMs = performance.now();
  const tasks = selectTasks(ring, patterns);
  const scratch = makeScratch();
  const distances = measureDistances(root, findChangedFiles(root));
  console.log(`Seed ${runSeed}: IRONCRAFT_TEST_SEED=${runSeed} repeats this run.`);
  const run = new TestRun(orderTasks(tasks, distances), {
    scratch,
    keepGoing,
    limitMs: (file) => LIMIT_MS[ringOf(file)],
    flakyFile,
    // The soak has other seeds each time: what fails there is a finding, and no second try makes it less.
    retries: ring === 'gate',
  });
  run.troubles.push(...findWrongEntries(root, run.flaky, new Date()));
  await run.runAll(workers);
  rmSync(scratch, { recursive: true, force: true });
  keepDurations(run.reports);
  console.log(describeRun(run, performance.now() - startMs));
  const { passed, failed, skipped } = countOutcomes(run.reports);
  const hasRun = passed + failed > 0;
  if (!hasRun) console.log(skipped > 0 ? 'No test ran: all were skipped, for the reasons above.' : 'No test ran.');
  return !hasRun || failed > 0 || run.troubles.length > 0 ? 1 : 0;
}

// A process that starts loads what another has compiled; those that tests start inherit it.
process.env.NODE_COMPILE_CACHE ??= join(cacheFolder, 'compiled');
try {
  process.exitCode = await runTasks(readSettings());
} catch (error) {
  process.exitCode = tellUsage(error);
}
