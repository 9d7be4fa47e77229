/**
 * Many cheap timers on one of the system's. A thousand streams that emit fifty words a second each would otherwise set
 * fifty thousand timers a second; here they share one tick, and a timer is an entry of an array.
 *
 * Timers fire at the first tick at or after their time, never before. The tick runs only while timers are set.
 */
import { elapsedMs, setTicker, type Timer } from '../../../kernel/clock/timers.ts';
export class TimerWheel {
  readonly #slots: WheelTimer[][] = Array.from({ length: SLOT_COUNT }, () => []);
  readonly #now: () => number;
  #pending = 0;
  /** The last tick whose slot was emptied. */
  #tick = 0;
  #timer: Timer | undefined;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => elapsedMs()) {
    this.#now = now;
  }

  /** Fires once at `atMs` (of the wheel's clock). The returned function cancels it. */
  setTimer(atMs: number, fire: () => void): () => void {
    if (this.#timer === undefined) this.#start();
    const timer: WheelTimer = { tick: Math.max(Math.ceil(atMs / TICK_MS), this.#tick + 1), fire };
    this.#slots[timer.tick % SLOT_COUNT]?.push(timer);
    this.#pending++;
    return () => {
      if (timer.fire === undefined) return;
      timer.fire = undefined;
      this.#pending--;
    };
  }

  /** Fires everything due. Called by the timer; a test with its own clock calls it itself. */
  advance(): void {
    const current = Math.floor(this.#now() / TICK_MS);
    // After a long stall each slot need be visited once only.
    const first = Math.max(this.#tick + 1, current - SLOT_COUNT + 1);
    for (let tick = first; tick <= current && this.#pending > 0; tick++) this.#fireSlot(tick, current);
    this.#tick = Math.max(this.#tick, current);
    if (this.#pending > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #fireSlot(tick: number, current: number): void {
    const index = tick % SLOT_COUNT;
    const timers = this.#slots[index] ?? [];
    this.#slots[index] = [];
    this.#tick = tick;
    for (const timer of timers) {
      if (timer.fire === undefined) continue;
      if (timer.tick > current) {
        // Of a later turn of the wheel.
        this.#slots[index]?.push(timer);
        continue;
      }
      const fire = timer.fire;
      timer.fire = undefined;
      this.#pending--;
      fire();
    }
  }

  #start(): void {
    this.#tick = Math.floor(this.#now() / TICK_MS);
    this.#timer = setTicker(() => this.advance(), TICK_MS, { keepsProcess: true });
  }
}

interface WheelTimer {
  readonly tick: number;
  /** Undefined once fired or taken back. */
  fire: (() => void) | undefined;
}

const TICK_MS = 5;
/** 2.56 seconds a turn: timers further off wait for a later turn. */
const SLOT_COUNT = 512;
