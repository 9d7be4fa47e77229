/** Processes of `till-service.ts` over one database: killed, started again, and put ahead. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from './fleet.ts';
import type { Random } from './seeded-random.ts';
import type { TillSettings } from './till-service.ts';

const PROGRAM = fileURLToPath(new URL('./till-service.ts', import.meta.url));

interface Replica {
  readonly child: ChildProcess;
  readonly url: string;
  readonly ended: Promise<unknown>;
}

export class TillReplicas {
  readonly #settings: Omit<TillSettings, 'aheadMs'>;
  readonly #alive: Replica[] = [];
  #aheadMs = 0;

  constructor(t: Cleanup, settings: Omit<TillSettings, 'aheadMs'>) {
    this.#settings = settings;
    t.after(() => this.kill(this.#alive.length));
  }

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** The address of one that lives; undefined while there is none. */
  pick(random: Random): string | undefined {
    return this.#alive.length === 0 ? undefined : random.pick(this.#alive).url;
  }

  async start(count: number): Promise<void> {
    const settings: TillSettings = { ...this.#settings, aheadMs: this.#aheadMs };
    await Promise.all(
      Array.from({ length: count }, async () => {
        const child = fork(PROGRAM, [JSON.stringify(settings)], {
          execArgv: ['--max-semi-space-size=16'],
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
        const ended = once(child, 'exit');
        const early = ended.then(([code, signal]) =>
          assert.fail(`a replica ended before it was ready: ${code ?? signal}`),
        );
        early.catch(() => undefined);
        const [url] = await Promise.race([once(child, 'message'), early]);
        child.send(this.#aheadMs);
        this.#alive.push({ child, url: String(url), ended });
      }),
    );
  }

  /** The oldest, with -9. Each must have lived until then. */
  async kill(count: number): Promise<void> {
    const victims = this.#alive.splice(0, count);
    for (const { child } of victims) child.kill('SIGKILL');
    for (const { ended } of victims) assert.deepEqual(await ended, [null, 'SIGKILL'], 'it lived until then');
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
    for (const { child } of this.#alive) if (child.connected) child.send(this.#aheadMs);
  }
}
