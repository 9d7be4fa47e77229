/**
 * The commands that a registry was sent within its last minute (or second), and the processes that wait for a turn.
 *
 * In no stretch of the registry's time are there more than it takes, however it counts: by calendar minutes, or by the minute that ends
 * now. So commands are counted in slices of time, and a slice counts for a little longer than the whole: a command may be on its way
 * for as long as two slices.
 */

export interface CommandRate {
  readonly commands: number;
  readonly perMs: number;
}

export interface CommandWindow {
  /** By the number of the slice. */
  readonly commands: Readonly<Record<string, number>>;
  readonly waiting: Readonly<Record<string, Waiter>>;
}

interface Waiter {
  readonly rank: number;
  /** It has gone away where it does not ask again before. */
  readonly untilMs: number;
}

export type Turn =
  | { readonly isGranted: true; readonly window: CommandWindow }
  /** `againMs`: before that, nothing changes that this process could not have done. */
  | { readonly isGranted: false; readonly window: CommandWindow; readonly againMs: number };

export const EMPTY_WINDOW: CommandWindow = { commands: {}, waiting: {} };

const SLICES = 24;
/** Beside those of the rate: what may be on its way. */
const SPARE_SLICES = 2;
const WAITER_MS = 5_000;
/** Others come first. */
const BEHIND_MS = 250;

interface Wish {
  readonly process: string;
  readonly rank: number;
  readonly nowMs: number;
}

/** One command, or a place in the line of those that wait. Processes whose clocks are behind go by the one that is ahead, up to a minute. */
export function takeTurn(window: CommandWindow, rate: CommandRate, { nowMs, process, rank }: Wish): Turn {
  const sliceMs = rate.perMs / SLICES;
  const own = Math.floor(nowMs / sliceMs);
  const counted = new Map(
    Object.entries(window.commands)
      .map(([slice, count]) => [Number(slice), count] as const)
      .filter(([slice]) => slice > own - SLICES - SPARE_SLICES && slice <= own + SLICES),
  );
  const newest = Math.max(own, ...counted.keys());
  for (const slice of counted.keys()) if (slice <= newest - SLICES - SPARE_SLICES) counted.delete(slice);
  const others = Object.entries(window.waiting).filter(([id, { untilMs }]) => id !== process && untilMs > nowMs);
  const before = others.filter(([, other]) => other.rank < rank).length;
  const free = rate.commands - [...counted.values()].reduce((sum, count) => sum + count, 0);
  if (free > before) {
    counted.set(newest, (counted.get(newest) ?? 0) + 1);
    return { isGranted: true, window: { commands: Object.fromEntries(counted), waiting: Object.fromEntries(others) } };
  }
  const oldest = Math.min(newest, ...counted.keys());
  const againMs = free > 0 ? BEHIND_MS : Math.max((oldest + SLICES + SPARE_SLICES) * sliceMs - nowMs, 1);
  const waiting = { ...Object.fromEntries(others), [process]: { rank, untilMs: nowMs + WAITER_MS } };
  return { isGranted: false, againMs, window: { commands: Object.fromEntries(counted), waiting } };
}
