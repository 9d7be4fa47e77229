/** What a registry has answered a short while ago, by this process. */
import type { Clock } from '../../../kernel/clock/clock.ts';

const MAX_KEYS = 10_000;

export class Memory<Value> {
  readonly #known = new Map<string, { readonly value: Value; readonly until: number }>();
  readonly #clock: Clock;
  readonly #keepMs: number;

  /** 0: nothing is kept. */
  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  get(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.until > this.#clock.now().getTime() ? known.value : undefined;
  }

  set(key: string, value: Value): void {
    if (this.#keepMs === 0) return;
    if (this.#known.size >= MAX_KEYS) this.#known.clear();
    this.#known.set(key, { value, until: this.#clock.now().getTime() + this.#keepMs });
  }

  clear(): void {
    this.#known.clear();
  }
}
