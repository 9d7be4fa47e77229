/** A worker process as the runner holds it: gets files, gives reports, and is killed when it is silent for too long. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FileReport, Order, WorkerMessage } from './messages.ts';

const workerFile = join(import.meta.dirname, 'start-worker.ts');
const reporterFile = join(import.meta.dirname, 'report-events.ts');
const GRACE_MS = 15_000;

export interface WorkerOptions {
  readonly cwd: string;
  /** Made for this worker, and removed with it: its scratch folder. */
  readonly scratch: string;
  /** What a worker that honours the limit of a file may need beyond it, and at its end. Default 15,000. */
  readonly graceMs?: number;
  /** Beside those of this process. */
  readonly variables?: NodeJS.ProcessEnv;
  /** What the worker and the files print. */
  onOutput(text: string): void;
  onTrouble(text: string): void;
}

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #options: WorkerOptions;
  readonly #ready: Promise<void>;
  readonly #exit: Promise<string>;
  #finish: ((report: FileReport) => void) | undefined;
  readonly #graceMs: number;
  #hasFailure = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? GRACE_MS;
    mkdirSync(options.scratch, { recursive: true });
    this.#child = fork(workerFile, {
      cwd: options.cwd,
      // Under node's own runner the worker would report to that.
      env: { ...process.env, ...options.variables, TMPDIR: options.scratch, NODE_TEST_CONTEXT: undefined },
      execArgv: [`--test-reporter=${reporterFile}`],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => options.onOutput(text));
    }
    this.#exit = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(signal ?? `code ${code ?? 1}`));
    });
    this.#ready = new Promise((resolve) => {
      this.#child.on('message', (message: WorkerMessage) => {
        if (message.type === 'ready') resolve();
        else if (message.type === 'trouble') options.onTrouble(message.text);
        else this.#finish?.(message.report);
      });
    });
  }

  /** Whether it can run another file. */
  get isAlive(): boolean {
    return this.#child.connected;
  }

  async run(file: string, limitMs: number): Promise<FileReport> {
    const startMs = performance.now();
    const broken = (text: string): FileReport => ({
      file,
      outcomes: [{ state: 'failed', path: [], error: text }],
      diagnostics: [],
      durationMs: performance.now() - startMs,
      processorMs: 0,
      residentBytes: 0,
    });
    await Promise.race([this.#ready, this.#exit]);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), limitMs + this.#graceMs);
    const report = await Promise.race([
      new Promise<FileReport>((resolve) => {
        this.#finish = resolve;
        this.#send({ type: 'run', file, limitMs });
      }),
      this.#exit.then((how) => broken(`The process ended (${how}) before the file did; its limit is ${limitMs} ms.`)),
    ]);
    clearTimeout(timer);
    this.#hasFailure ||= report.outcomes.some(({ state }) => state === 'failed');
    return report;
  }

  /** Closes what its files shared, and waits for its end. */
  async end(): Promise<void> {
    if (this.isAlive) {
      this.#send({ type: 'end' });
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2 * this.#graceMs);
      const how = await this.#exit;
      clearTimeout(timer);
      // With a failure it ends with 1, as node:test does.
      if (how !== 'code 0' && !this.#hasFailure) this.#options.onTrouble(`A worker process ended with ${how}.`);
    }
    rmSync(this.#options.scratch, { recursive: true, force: true });
  }

  #send(order: Order): void {
    if (this.#child.connected) this.#child.send(order);
  }
}
