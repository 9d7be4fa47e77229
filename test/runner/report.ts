/** What the runner prints. */
import { dirname } from 'node:path';
import { runSeed } from '../support/seed.ts';
import type { FlakyTest } from './flaky-tests.ts';
import type { FileReport, Outcome } from './messages.ts';
import { STORES, type Store, type Task } from './select-files.ts';

export interface TaskReport extends FileReport {
  readonly store: Store;
}

const SLOWEST = 10;
/** `src/platform/resources` */
const FOLDER_DEPTH = 3;

export interface Totals {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly todo: number;
}

/** One line for a file that is through, with its time by the clock and of the processor, and its failures in full. */
export function describeFile(report: TaskReport, done: number, total: number): string {
  const { tests, failed, skipped } = countOutcomes([report]);
  const extra = [failed > 0 && `${failed} FAILED`, skipped > 0 && `${skipped} skipped`].filter(
    (part) => part !== false,
  );
  const counter = `[${String(done).padStart(String(total).length)}/${total}]`;
  const counts = [...onServer(report), `${tests} ${tests === 1 ? 'test' : 'tests'}`, ...extra].join(', ');
  const lines = [
    `${counter} ${failed > 0 ? '✖' : '✔'} ${report.file} (${counts}, ${seconds(report.durationMs)}, computes ${seconds(report.processorMs)})`,
  ];
  for (const text of report.diagnostics) lines.push(`  ℹ ${text}`);
  for (const { state, path, error } of report.outcomes)
    if (state === 'skipped' && error !== '') lines.push(`  - ${path.join(' › ')}: skipped, ${error}`);
  return [...lines, ...describeFailures(report)].join('\n');
}

/** Where nothing is said, the store is the embedded one. */
function onServer({ store }: TaskReport): string[] {
  return store === 'server' ? ['server'] : [];
}

function describeFailures(report: TaskReport): string[] {
  const { file, outcomes } = report;
  return outcomes
    .filter(({ state }) => state === 'failed')
    .map(
      ({ path, error }) =>
        `  ✖ ${[file, ...onServer(report), ...path].join(' › ')}\n${error.replaceAll(/^/gm, '    ')}`,
    );
}

export interface RunReport {
  readonly reports: readonly TaskReport[];
  /** Failures that are no test's. */
  readonly troubles: readonly string[];
  readonly unrun: readonly Task[];
  /** Those of earlier runs first. */
  readonly flaky: readonly FlakyTest[];
}

/** Everything that went wrong with the commands that repeat it, the slowest files, and the totals. The last line counts flaky tests. */
export function describeRun({ reports, troubles, unrun, flaky }: RunReport, wallMs: number): string {
  const { tests, passed, failed, skipped, todo } = countOutcomes(reports);
  const processorMs = reports.reduce((sum, report) => sum + report.processorMs, 0);
  const slowest = reports.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST);
  const failures = [...reports.flatMap(describeFailures), ...troubles.map((text) => `  ✖ ${text}`)];
  const repeats = listRepeats(reports.filter((report) => countOutcomes([report]).failed > 0));
  return [
    ...(failures.length === 0 ? [] : ['', 'What failed:', ...failures]),
    ...(repeats.length === 0 ? [] : ['', ...repeats]),
    ...(unrun.length === 0 ? [] : ['', `${unrun.length} files were not run after that; --keep-going runs them.`]),
    '',
    'The slowest files (and their time of the processor, with that of the processes that they started):',
    ...slowest.map(
      (report) =>
        `  ${seconds(report.durationMs).padStart(8)} (${seconds(report.processorMs)}) ${[report.file, ...onServer(report)].join(', ')}`,
    ),
    '',
    'The folders that take most of the time of the processor:',
    ...sumByFolder(reports).map(({ folder, processorMs: ms }) => `  ${seconds(ms).padStart(8)} ${folder}`),
    '',
    `ℹ files ${reports.length}`,
    `ℹ tests ${tests}`,
    `ℹ pass ${passed}`,
    `ℹ fail ${failed + troubles.length}`,
    `ℹ skipped ${skipped}`,
    `ℹ todo ${todo}`,
    `ℹ duration ${seconds(wallMs)}, ${seconds(processorMs)} of processor time in the tests and the processes that they started`,
    `ℹ flaky ${flaky.length} (failed once and passed alone: test/flaky.json)`,
    ...flaky.map((entry) => `  ${JSON.stringify(entry)}`),
  ].join('\n');
}

/** Set by a machine, and the same in the next run. */
const OF_MACHINE: readonly string[] = [
  'IRONCRAFT_TEST_BROWSER',
  'IRONCRAFT_TEST_DATABASE_URL',
  'IRONCRAFT_TEST_PROGRAMS',
];

/** The commands that repeat what these files did, one for each store: with the variables that this run was given. */
function listRepeats(failed: readonly TaskReport[]): string[] {
  const given = Object.keys(process.env).filter((name) => name.startsWith('IRONCRAFT_') && !OF_MACHINE.includes(name));
  const others = given.filter((name) => name !== 'IRONCRAFT_TEST_SEED').map((name) => `${name}=${process.env[name]}`);
  const hasServer = (process.env.IRONCRAFT_TEST_DATABASE_URL ?? '') !== '';
  return STORES.flatMap((wanted) => {
    const files = [...new Set(failed.filter(({ store }) => store === wanted).map(({ file }) => file))];
    if (files.length === 0) return [];
    const without = wanted === 'embedded' && hasServer ? ['IRONCRAFT_TEST_DATABASE_URL='] : [];
    const variables = [...without, ...others, `IRONCRAFT_TEST_SEED=${runSeed}`];
    return [`Repeat: ${variables.join(' ')} npm run test:all ${files.join(' ')}`];
  });
}

/** The first of them, by what their files took on either store. */
function sumByFolder(reports: readonly TaskReport[]) {
  const sums = new Map<string, number>();
  for (const { file, processorMs } of reports) {
    const folder = dirname(file).split('/').slice(0, FOLDER_DEPTH).join('/');
    sums.set(folder, (sums.get(folder) ?? 0) + processorMs);
  }
  const folders = [...sums].map(([folder, processorMs]) => ({ folder, processorMs }));
  return folders.toSorted((a, b) => b.processorMs - a.processorMs).slice(0, SLOWEST);
}

export function countOutcomes(reports: readonly FileReport[]): Totals {
  const outcomes = reports.flatMap((report) => report.outcomes);
  const count = (wanted: Outcome['state']) => outcomes.filter(({ state }) => state === wanted).length;
  return {
    tests: outcomes.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    todo: count('todo'),
  };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
