/**
 * Whether the event loop keeps up. A timer notes when it fires; what lies between two firings beyond the interval is how
 * long everything else waited, too. A stretch between firings that is late by more than the limit counts with its whole
 * length, and the loop is overloaded while such stretches make up more than half of the last second.
 *
 * Neither the mean nor the maximum would do: a block of any length is one sample among many, so a mean hardly moves; and
 * a maximum takes one pause of the garbage collector for an overload.
 */

/** How often the loop is asked to be on time. */
export const SAMPLE_MS = 50;
/** What is looked back on. */
export const WINDOW_MS = 1_000;
/** Of the window: beyond it, late stretches are no accident. */
const LATE_SHARE = 0.5;

export interface LatenessMonitor {
  /** Begins to look, with nothing on record. */
  start(): void;
  stop(): void;
  /** True while the loop is later than the limit for most of the last second; false while nobody looks. */
  isOverloaded(): boolean;
}

/** A stretch between two firings that was late by more than the limit; milliseconds of `performance.now()`. */
interface LateStretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `limitMs`: lateness that a server may have for as long as it likes. */
export function createLatenessMonitor(limitMs: number): LatenessMonitor {
  let timer: NodeJS.Timeout | undefined;
  let firedAtMs = 0;
  let late: LateStretch[] = [];

  function isLate(nowMs: number): boolean {
    return nowMs - firedAtMs - SAMPLE_MS > limitMs;
  }

  function takeSample(): void {
    const nowMs = performance.now();
    late = late.filter(({ toMs }) => toMs > nowMs - WINDOW_MS);
    if (isLate(nowMs)) late.push({ fromMs: firedAtMs, toMs: nowMs });
    firedAtMs = nowMs;
  }

  return {
    start() {
      if (timer !== undefined) return;
      late = [];
      firedAtMs = performance.now();
      timer = setInterval(takeSample, SAMPLE_MS).unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
    isOverloaded() {
      if (timer === undefined) return false;
      const nowMs = performance.now();
      const beginMs = nowMs - WINDOW_MS;
      // Requests that piled up are read before the timer gets its turn: the stretch that lasts still counts as well.
      let lateMs = isLate(nowMs) ? nowMs - Math.max(firedAtMs, beginMs) : 0;
      for (const { fromMs, toMs } of late) lateMs += Math.max(0, toMs - Math.max(fromMs, beginMs));
      return lateMs > WINDOW_MS * LATE_SHARE;
    },
  };
}
