/**
 * Whether the event loop keeps up. A timer notes when it fires: by how much it is late, everything else waited, too. What
 * lies between two firings is a late stretch where that is more than the limit. The loop is overloaded while late
 * stretches make up more than half of the last second. A stretch longer than half a second counts as half a second: a
 * single pause, however long, is no overload, and what waited for it is better served than refused.
 *
 * Neither the mean nor the maximum of the samples would do. A block of any length is one sample among many, so a mean
 * hardly moves; and a maximum takes each pause of the garbage collector, or of a machine short of cores, for an overload.
 */

/** How often the loop is asked to be on time. */
export const SAMPLE_MS = 50;
/** How far to look back. */
export const WINDOW_MS = 1_000;
/** Late stretches of the window that are no accident together; what one of them counts at most. */
const MOST_LATE_MS = WINDOW_MS / 2;

export interface LatenessMonitor {
  /** Begins to look, with nothing on record. */
  start(): void;
  stop(): void;
  /** False while nobody looks. */
  isOverloaded(): boolean;
}

/** On a clock that leaves out what a stretch has beyond MOST_LATE_MS. */
interface LateStretch {
  readonly endMs: number;
  readonly lengthMs: number;
}

/** `limitMs`: lateness that is borne for as long as it lasts. */
export function createLatenessMonitor(limitMs: number): LatenessMonitor {
  let timer: NodeJS.Timeout | undefined;
  let firedAtMs = 0;
  let clockMs = 0;
  let late: LateStretch[] = [];

  /** The late stretches of the window that ends now. The last one need not be over. */
  function lookBack(nowMs: number): { endMs: number; stretches: LateStretch[] } {
    const tookMs = nowMs - firedAtMs;
    const lengthMs = Math.min(tookMs, MOST_LATE_MS);
    const endMs = clockMs + lengthMs;
    const stretches = late.filter((stretch) => stretch.endMs > endMs - WINDOW_MS);
    if (tookMs - SAMPLE_MS > limitMs) stretches.push({ endMs, lengthMs });
    return { endMs, stretches };
  }

  function takeSample(): void {
    const nowMs = performance.now();
    ({ endMs: clockMs, stretches: late } = lookBack(nowMs));
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
      // Requests that piled up are read before the timer gets its turn, so the stretch that still lasts counts as well.
      const { endMs: nowMs, stretches } = lookBack(performance.now());
      const lateMs = stretches.reduce(
        (sum, { endMs, lengthMs }) => sum + Math.min(lengthMs, endMs - (nowMs - WINDOW_MS)),
        0,
      );
      return lateMs > MOST_LATE_MS;
    },
  };
}
