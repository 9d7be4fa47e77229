/** A process that is killed with -9 now and then, and started again on what it has stored: `unkind-service.ts`. */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Report, Results, Task } from './unkind-service.ts';

const PROGRAM = fileURLToPath(new URL('unkind-service.ts', import.meta.url));

export interface KillableServiceOptions {
  /** The URL of a database, or the folder of an embedded one. */
  readonly store: string;
  /** Of the registry, which speaks EPP. */
  readonly port: number;
  /** The registrar's name there. */
  readonly clientId: string;
  readonly now: () => Date;
}

export class KillableService {
  readonly #options: KillableServiceOptions;
  readonly #key = randomBytes(32).toString('hex');
  readonly #waiting = new Map<number, (report: Report | undefined) => void>();
  #starting: Promise<void> | undefined;
  /** It may be starting still. */
  #launched: ChildProcess | undefined;
  /** It serves. */
  #child: ChildProcess | undefined;
  #url = '';
  #count = 0;

  constructor(options: KillableServiceOptions) {
    this.#options = options;
  }

  /** Of the present life. */
  get url(): string {
    return this.#url;
  }

  /** Resolves when it serves, however often it is killed as it starts. Nothing where it does already. */
  async start(): Promise<void> {
    while (this.#child === undefined) {
      this.#starting ??= this.#launch().finally(() => {
        this.#starting = undefined;
      });
      await this.#starting;
    }
  }

  async #launch(): Promise<void> {
    const { clientId, now, port, store } = this.#options;
    const child = fork(PROGRAM, [store, this.#key, String(port), clientId, String(now().getTime())], {
      execArgv: ['--max-semi-space-size=16'],
    });
    const ready = Promise.withResolvers<void>();
    this.#launched = child;
    child.on('message', (report: Report) => {
      if (report.kind === 'ready') {
        this.#child = child;
        this.#url = report.url;
        ready.resolve();
      } else this.#waiting.get(report.number)?.(report);
    });
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      if (signal === 'SIGKILL') ready.resolve();
      else ready.reject(new Error(`the service has ended by itself: ${code ?? signal}`));
      for (const settle of this.#waiting.values()) settle(undefined);
    });
    await ready.promise;
  }

  kill(): void {
    this.#launched?.kill('SIGKILL');
  }

  /** What comes of it; undefined: the process was killed meanwhile, and whether it was done is not known. */
  async ask<Kind extends Task['kind']>(
    task: Extract<Task, { kind: Kind }>,
  ): Promise<{ readonly result: Results[Kind] } | undefined> {
    await this.start();
    this.#count += 1;
    const number = this.#count;
    const report = await new Promise<Report | undefined>((resolve) => {
      this.#waiting.set(number, resolve);
      // One that is dead is not known to be until its end is told, which settles all that waits.
      if (this.#child === undefined) resolve(undefined);
      else this.#child.send({ number, task }, () => undefined);
    });
    this.#waiting.delete(number);
    if (report?.kind === 'failed') throw new Error(`${task.kind}: ${report.reason}`);
    // It answers each task with what `Results` says of it.
    return report?.kind === 'done' ? { result: report.result as Results[Kind] } : undefined;
  }

  /** As `ask`, again until it is done: for what may be done twice. */
  async insist<Kind extends Task['kind']>(task: Extract<Task, { kind: Kind }>): Promise<Results[Kind]> {
    for (;;) {
      const answer = await this.ask(task);
      if (answer !== undefined) return answer.result;
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
