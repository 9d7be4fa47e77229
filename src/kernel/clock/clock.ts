/** The port to time, so that tests can own it. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

export interface ManualClock extends Clock {
  /** Moves the clock; negative values move it back. */
  advance(ms: number): void;
  set(to: Date): void;
}

/** A clock that stands still until it is told to move. */
export function createManualClock(start: Date): ManualClock {
  let nowMs = start.getTime();
  return {
    now: () => new Date(nowMs),
    advance: (ms) => {
      nowMs += ms;
    },
    set: (to) => {
      nowMs = to.getTime();
    },
  };
}
