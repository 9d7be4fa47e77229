import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** Past the server's own drain time. */
const STOP_TIMEOUT_MS = 20_000;
const LOG_TAIL_CHARS = 2000;

export interface ProcessParts {
  /** Arguments of this same Node. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Gets both outputs. */
  readonly logPath: string;
}

/** A Node process that this one started, and is the only one that it ever stops. */
export class OwnProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #logPath: string;

  constructor({ args, cwd, env, logPath }: ProcessParts) {
    const log = openSync(logPath, 'a');
    this.#child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#logPath = logPath;
    this.#exited = once(this.#child, 'exit');
    if (this.#child.pid === undefined) throw new Error(`could not start node ${args.join(' ')}`);
    this.pid = this.#child.pid;
  }

  /** Polls until `probe` gives something. Throws with the end of the log when the process ends before or takes too long. */
  async waitFor<T>(what: string, timeoutMs: number, probe: () => Promise<T | undefined>): Promise<T> {
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline) {
      const found = await probe().catch(() => undefined);
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null) throw new Error(`the process ended before ${what}:\n${this.readLogTail()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`no ${what} within ${timeoutMs / 1000} s:\n${this.readLogTail()}`);
  }

  readLogTail(): string {
    return readFileSync(this.#logPath, 'utf8').slice(-LOG_TAIL_CHARS);
  }

  /** SIGTERM, then SIGKILL for one that does not end. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM');
      const kill = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await this.#exited;
      clearTimeout(kill);
    }
  }
}
