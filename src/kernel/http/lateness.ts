/**
 * Whether the event loop keeps up. A timer notes when it fires: by how much it is late, everything else waited, too. What
 * lies between two firings is a late stretch where that is more than the limit, and counts with its whole length. The loop
 * is overloaded while late stretches make up more than half of the last second (for a limit beyond half a second: of the
 * last two limits). One stretch alone makes up half at most: a single pause, however long, is no overload, and what
 * waited for it is better served than refused.
 *
 * Neither the mean nor the maximum of the samples would do. A block of any length is one sample among many, so a mean
 * hardly moves; and a maximum takes each pause of the garbage collector, or of a machine short of cores, for an overload.
 */

/** How often the loop is asked to be on time. */
export const SAMPLE_MS = 50;
/** What is looked back on, at least. */
export const WINDOW_MS = 1_000;
/** Of the window: beyond it, late stretches are no accident. */
const LATE_SHARE = 0.5;

export interface LatenessMonitor {
  /** Begins to look, with nothing on record. */
  start(): void;
  stop(): void;
  /** False while nobody looks. */
  isOverloaded(): boolean;
}

/** Milliseconds of `performance.now()`. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `limitMs`: lateness that is borne for as long as it lasts. */
export function createLatenessMonitor(limitMs: number): LatenessMonitor {
  const windowMs = Math.max(WINDOW_MS, limitMs / LATE_SHARE);
  const mostMs = windowMs * LATE_SHARE;
  let timer: NodeJS.Timeout | undefined;
  let firedAtMs = 0;
  let late: Stretch[] = [];

  function isLate({ fromMs, toMs }: Stretch): boolean {
    return toMs - fromMs - SAMPLE_MS > limitMs;
  }

  function takeSample(): void {
    const latest = { fromMs: firedAtMs, toMs: performance.now() };
    late = late.filter(({ toMs }) => toMs > latest.toMs - windowMs);
    if (isLate(latest)) late.push(latest);
    firedAtMs = latest.toMs;
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
      // Requests that piled up are read before the timer gets its turn: the stretch that still lasts counts as well.
      const latest = { fromMs: firedAtMs, toMs: performance.now() };
      const beginMs = latest.toMs - windowMs;
      let lateMs = 0;
      for (const { fromMs, toMs } of isLate(latest) ? [...late, latest] : late) {
        lateMs += Math.min(mostMs, Math.max(0, toMs - Math.max(fromMs, beginMs)));
      }
      return lateMs > mostMs;
    },
  };
}
