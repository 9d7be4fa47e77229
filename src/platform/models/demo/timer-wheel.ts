/**
 * Many cheap alarms on one timer. A thousand streams that emit fifty words a second each would otherwise set fifty
 * thousand timers a second; here they share one tick, and an alarm is an entry of an array.
 *
 * Alarms ring at the first tick at or after their time, never before. The tick runs only while alarms are set.
 */
export class TimerWheel {
  readonly #slots: Alarm[][] = Array.from({ length: SLOT_COUNT }, () => []);
  readonly #now: () => number;
  #pending = 0;
  /** The last tick whose slot was emptied. */
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Rings once at `atMs` (of the wheel's clock). The returned function takes the alarm back. */
  setAlarm(atMs: number, ring: () => void): () => void {
    if (this.#timer === undefined) this.#start();
    const alarm: Alarm = { tick: Math.max(Math.ceil(atMs / TICK_MS), this.#tick + 1), ring };
    this.#slots[alarm.tick % SLOT_COUNT]?.push(alarm);
    this.#pending++;
    return () => {
      if (alarm.ring === undefined) return;
      alarm.ring = undefined;
      this.#pending--;
    };
  }

  /** Rings everything due. Called by the timer; a test with its own clock calls it itself. */
  advance(): void {
    const current = Math.floor(this.#now() / TICK_MS);
    // After a long stall each slot need be visited once only.
    const first = Math.max(this.#tick + 1, current - SLOT_COUNT + 1);
    for (let tick = first; tick <= current && this.#pending > 0; tick++) this.#ringSlot(tick, current);
    this.#tick = Math.max(this.#tick, current);
    if (this.#pending > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ringSlot(tick: number, current: number): void {
    const index = tick % SLOT_COUNT;
    const alarms = this.#slots[index] ?? [];
    this.#slots[index] = [];
    this.#tick = tick;
    for (const alarm of alarms) {
      if (alarm.ring === undefined) continue;
      if (alarm.tick > current) {
        // Of a later turn of the wheel.
        this.#slots[index]?.push(alarm);
        continue;
      }
      const ring = alarm.ring;
      alarm.ring = undefined;
      this.#pending--;
      ring();
    }
  }

  #start(): void {
    this.#tick = Math.floor(this.#now() / TICK_MS);
    this.#timer = setInterval(() => this.advance(), TICK_MS);
  }
}

interface Alarm {
  readonly tick: number;
  /** Undefined once rung or taken back. */
  ring: (() => void) | undefined;
}

const TICK_MS = 5;
/** 2.56 seconds a turn: alarms further off go round. */
const SLOT_COUNT = 512;
