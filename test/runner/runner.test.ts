/** The runner on files that go wrong in every way: each failure is told, and told of the file that it belongs to. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { FileReport } from './messages.ts';
import { root } from './select-files.ts';
import { TestRun } from './test-run.ts';
import { WorkerProcess } from './worker-process.ts';

/** For files that end by themselves. */
const LIMIT_MS = 60_000;
const fixture = (name: string) => `test/runner/fixtures/${name}.ts`;

let scratch = '';
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'runner-'));
});
after(() => rm(scratch, { recursive: true }));

interface Watched {
  readonly worker: WorkerProcess;
  readonly troubles: string[];
  output(): string;
}

let workers = 0;

function startWorker(t: TestContext, variables: NodeJS.ProcessEnv = {}, graceMs = 1_000): Watched {
  workers += 1;
  const troubles: string[] = [];
  let output = '';
  const worker = new WorkerProcess({
    cwd: root,
    scratch: join(scratch, String(workers)),
    graceMs,
    variables,
    onOutput: (text) => {
      output += text;
    },
    onTrouble: (text) => void troubles.push(text),
  });
  t.after(() => worker.end());
  return { worker, troubles, output: () => output };
}

/** State, path, and the first line of the error. */
function summarize({ outcomes }: FileReport): string[] {
  return outcomes.map(({ state, path, error }) => {
    const [line = ''] = error.split('\n');
    return [state, path.join(' › '), line].filter((part) => part !== '').join(': ');
  });
}

test('hooks, groups and failures are the file’s own, whatever ran before it in its process', async (t) => {
  const { worker, troubles } = startWorker(t);
  const first = await worker.run(fixture('hooks-once-more'), LIMIT_MS);
  assert.deepEqual(summarize(first), ['passed: passes', 'failed: Error: the last hook of this file fails']);
  const second = await worker.run(fixture('hooks-and-outcomes'), LIMIT_MS);
  assert.deepEqual(second.diagnostics, ['told to whoever runs it']);
  assert.deepEqual(summarize(second), [
    'passed: passes › with a part that passes',
    'passed: passes',
    'failed: a group › with a test that fails: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
    'skipped: a group › with a test that is skipped: for a reason',
    'skipped: a group that is skipped: for a reason',
  ]);
  const third = await worker.run(fixture('import-fails'), LIMIT_MS);
  assert.deepEqual(summarize(third), ['failed: Error: nothing after this line is declared']);
  assert.deepEqual(summarize(await worker.run(fixture('no-test'), LIMIT_MS)), ['failed: The file declares no test.']);
  await worker.end();
  assert.deepEqual(troubles, []);
});

test('what a file leaves behind fails it', async (t) => {
  const { worker, troubles } = startWorker(t);
  const report = await worker.run(fixture('leaves-traces'), LIMIT_MS);
  assert.deepEqual(summarize(report), [
    'passed: leaves a folder and a variable',
    'failed: The file changed what all files of a process share: the environment’s RUNNER_FIXTURE.',
  ]);
  await worker.end();
  assert.equal(troubles.length, 1);
  assert.match(troubles[0] ?? '', /^test\/runner\/fixtures\/leaves-traces\.ts left left-behind-\w+ in the scratch/);
});

test('a file past its limit fails, the next one runs, and one that blocks fails with its process', async (t) => {
  const { worker } = startWorker(t, {}, LIMIT_MS);
  const late = await worker.run(fixture('never-ends'), 500);
  assert.deepEqual(
    summarize(late).map((line) => line.split(':')[0]),
    ['failed', 'failed'],
  );
  assert.match(summarize(late)[1] ?? '', /timed out after 500ms/);
  assert.deepEqual(summarize(await worker.run(fixture('no-test'), LIMIT_MS)), ['failed: The file declares no test.']);
  await assertEndsProcess(startWorker(t).worker, 'blocks');
});

test('a property of fast-check draws by the run’s seed and its test’s name, and a file that exits fails with its process', async (t) => {
  const draw = async (seed: string): Promise<[WorkerProcess, readonly string[]]> => {
    const { worker } = startWorker(t, { IRONCRAFT_TEST_SEED: seed });
    return [worker, (await worker.run(fixture('draws-at-random'), LIMIT_MS)).diagnostics];
  };
  const [[first, drawn], [, again], [, other]] = [await draw('7'), await draw('7'), await draw('8')];
  assert.notEqual(drawn[0]?.split(': ')[1], drawn[1]?.split(': ')[1]);
  assert.deepEqual(again, drawn);
  assert.notDeepEqual(other, drawn);
  await assertEndsProcess(first, 'exits');
});

async function assertEndsProcess(worker: WorkerProcess, name: 'blocks' | 'exits'): Promise<void> {
  const report = await worker.run(fixture(name), 500);
  assert.match(summarize(report).join(), /^failed: The process ended \((?:SIGKILL|code 0)\) before the file did/);
  assert.equal(worker.isAlive, false);
}

test('what fails after its test has passed is no success', async (t) => {
  const { worker, troubles, output } = startWorker(t);
  const report = await worker.run(fixture('throws-late'), LIMIT_MS);
  assert.deepEqual(summarize(report), ['passed: passes, and something that it started fails']);
  await worker.end();
  assert.deepEqual(troubles, ['A worker process ended with code 1.']);
  assert.match(output(), /too late for the test/);
});

test('an uncaught error fails the test that it comes from, and what a file computed includes what its processes did', async (t) => {
  const { worker } = startWorker(t);
  assert.deepEqual(summarize(await worker.run(fixture('throws-beside'), LIMIT_MS)), [
    'failed: a group › waits, and a timer of its own throws: Error: by a timer',
    'failed: a group › waits, and what it left to itself fails: Error: by a promise',
    'passed: a group › waits beside them',
    'passed: is told of no promise',
  ]);
  const report = await worker.run(fixture('child-computes'), LIMIT_MS);
  assert.deepEqual(summarize(report), ['passed: a child computes']);
  if (process.platform === 'linux') assert.ok(report.processorMs >= 100, `${report.processorMs} ms`);
});

test('a worker process of one store knows nothing of the other', async (t) => {
  const { worker } = startWorker(t, { IRONCRAFT_TEST_DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  const { diagnostics } = await worker.run(fixture('tells-store'), LIMIT_MS);
  assert.deepEqual(diagnostics, ['postgres://127.0.0.1:1/none']);
  const { worker: other } = startWorker(t, { IRONCRAFT_TEST_DATABASE_URL: undefined });
  assert.deepEqual((await other.run(fixture('tells-store'), LIMIT_MS)).diagnostics, ['the embedded store']);
});

test('a worker process that has grown past its limit gets no further file', async () => {
  const flakyFile = join(scratch, 'no-flaky.json');
  await writeFile(flakyFile, '[]\n');
  const runWith = async (maxResidentBytes: number) => {
    const files = [fixture('tells-process'), fixture('tells-process-too')];
    const options = {
      scratch: join(scratch, 'grown'),
      limitMs: () => LIMIT_MS,
      keepGoing: true,
      flakyFile,
      retries: false,
    };
    const run = new TestRun(
      files.map((file) => ({ file, store: 'embedded' })),
      { ...options, maxResidentBytes },
    );
    await run.runAll(1);
    assert.deepEqual(run.troubles, []);
    return new Set(run.reports.flatMap(({ diagnostics }) => diagnostics)).size;
  };
  assert.equal(await runWith(1), 2);
  assert.equal(await runWith(Number.POSITIVE_INFINITY), 1);
});

interface Run {
  readonly code: number;
  readonly output: string;
}

/** The runner as a command, on the embedded store, with a list of flaky tests of its own. */
async function runCommand(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Run> {
  const child = spawn(process.execPath, ['test/runner/run-tests.ts', ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: scratch, IRONCRAFT_TEST_DATABASE_URL: '', ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  return { code, output };
}

test('a run exits with 1 on a failure, repeats it at the end, and leaves nothing in the scratch folder', async () => {
  const before = await readdir(scratch);
  const args = ['--workers', '1', fixture('hooks-and-outcomes'), 'test/support/shared.test.ts'];
  const failed = await runCommand(['--keep-going', ...args], { IRONCRAFT_TEST_SEED: '9' });
  assert.equal(failed.code, 1);
  assert.match(
    failed.output,
    /^\[\d\/2\] ✔ test\/support\/shared\.test\.ts \(\d+ tests, [\d.]+ s, computes [\d.]+ s\)$/m,
  );
  assert.equal(failed.output.match(/✖ .*hooks-and-outcomes.ts › a group › with a test that fails$/gm)?.length, 2);
  assert.match(failed.output, /^ℹ fail 1\nℹ skipped 2$/m);
  assert.match(
    failed.output,
    /^Repeat: IRONCRAFT_TEST_SEED=9 npm run test:all test\/runner\/fixtures\/hooks-and-outcomes\.ts$/m,
  );
  assert.deepEqual(await readdir(scratch), before);
});

test('a run ends at the first file that fails twice, and counts the files that it left out', async () => {
  const files = ['exits', 'hooks-and-outcomes'].map(fixture);
  const { code, output } = await runCommand(['--workers', '1', ...files]);
  assert.equal(code, 1);
  assert.match(output, /^\S+ failed \([^)]*\)\. Once more, alone:$/m);
  assert.match(output, /^ℹ files 1$/m);
  assert.match(output, /^1 files were not run after that/m);
});

test('a run in which all tests are skipped fails, and gives their reasons', async () => {
  const { code, output } = await runCommand([fixture('only-skips')]);
  assert.equal(code, 1);
  assert.match(output, /^ {2}- is skipped: skipped, it needs what is not there$/m);
  assert.match(output, /^No test ran: all were skipped/m);
});

test('a wrong call is told in one sentence, and a source file names its test', async () => {
  const { code, output } = await runCommand(['test/runner/task-queue.ts']);
  assert.deepEqual([code, output], [2, '']);
});

test('a soak file that is named gets no second try', async () => {
  const { code, output } = await runCommand([fixture('fails.soak')]);
  assert.equal(code, 1);
  assert.doesNotMatch(output, /Once more/);
});

test('a test that fails and then passes alone is flaky once, and fails the second time', async () => {
  const flakyFile = join(scratch, 'flaky.json');
  const marker = join(scratch, 'has-failed');
  const args = ['--flaky-file', flakyFile, fixture('fails-at-first')];
  await writeFile(flakyFile, '[]\n');
  const first = await runCommand(args, { IRONCRAFT_TEST_SEED: '9', RUNNER_MARKER: marker });
  assert.equal(first.code, 0, first.output);
  const [entry, ...others] = JSON.parse(await readFile(flakyFile, 'utf8'));
  assert.deepEqual(others, []);
  assert.deepEqual(
    { ...entry, date: '' },
    { file: fixture('fails-at-first'), test: 'passes the second time', seed: 9, date: '' },
  );
  assert.match(first.output, /^ℹ fail 0$/m);
  assert.match(first.output, /\nℹ flaky 1 .*\n {2}\{.*"passes the second time".*\}\n$/);
  await rm(marker);
  const second = await runCommand(args, { RUNNER_MARKER: marker });
  assert.equal(second.code, 1, second.output);
  assert.match(second.output, /^ℹ fail 1$/m);
});
