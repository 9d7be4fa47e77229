/**
 * How a registry's names are looked at each day. To read a name (`info`) takes a command or two; to ask whether it is there (`check`) takes
 * one for many names, and tells neither whose it is nor until when. Where a day's commands are enough, every name is read each day. Where
 * they are not, each is checked, and read in turn: a share of them each day, those first that were read longest ago.
 */
import type { DailyLook } from '../registry/registry.ts';
import type { DueName } from './due-names.ts';

/** Of the day's commands, for names that have to be read in any case. */
const RESERVE = 0.1;
/** Each name is read once in four weeks, whatever that takes. */
const LEAST_SHARE = 1 / 28;

/** Of so many names, the share that is read in full each day: 1 is all of them. */
export function readingShare(names: number, { commands, commandsARead, namesACheck }: DailyLook): number {
  const forAll = names * commandsARead;
  if (forAll <= commands) return 1;
  const left = commands * (1 - RESERVE) - names / namesACheck;
  return Math.max(left / forAll, LEAST_SHARE);
}

/** Those that are read now, and those that are checked, both in the order that they came in. */
export function divide(
  due: readonly DueName[],
  share: number,
): { readonly toRead: readonly DueName[]; readonly toCheck: readonly DueName[] } {
  const inTurn = due.filter(({ must_read: mustRead }) => !mustRead);
  const longestAgo = inTurn
    .toSorted((a, b) => (a.synced_at?.getTime() ?? 0) - (b.synced_at?.getTime() ?? 0))
    .slice(0, Math.max(1, Math.round(share * inTurn.length)));
  const chosen = new Set(longestAgo);
  return {
    toRead: due.filter((name) => name.must_read || chosen.has(name)),
    toCheck: inTurn.filter((name) => !chosen.has(name)),
  };
}
