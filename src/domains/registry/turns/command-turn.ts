/**
 * Places in the line at a registry that takes so many commands. What is asked of registries inside these waits in the line as they say;
 * anything else, as what a caller waits for from now on.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

interface Turn {
  /** Undefined: the moment of the command. */
  readonly since: Date | undefined;
  readonly isBackground: boolean;
  /** Who waits has stopped waiting. */
  readonly signal: AbortSignal | undefined;
}

/** Sweeps, messages and audits stand behind whatever comes within so long after them: late they are asked all the same. */
const BACKGROUND_MS = 10 * 60_000;

const NOW: Turn = { since: undefined, isBackground: false, signal: undefined };

const turns = new AsyncLocalStorage<Turn>();

/** For an order, or whatever else was promised to a customer then: in front of what came later. */
export function inTurnSince<Result>(since: Date, work: () => Result): Result {
  return turns.run({ since, isBackground: false, signal: turns.getStore()?.signal }, work);
}

/** For what nobody waits for. `since`: when it was due. */
export function inBackground<Result>(
  work: () => Result,
  { signal, since }: { readonly signal?: AbortSignal | undefined; readonly since?: Date | undefined } = {},
): Result {
  return turns.run({ since, isBackground: true, signal }, work);
}

/** Nothing waits in the line any more once the signal is aborted. */
export function withSignal<Result>(signal: AbortSignal, work: () => Result): Result {
  return turns.run({ ...NOW, ...turns.getStore(), signal }, work);
}

/** `rank`: the lower, the sooner; in milliseconds since 1970. */
export function currentTurn(now: Date): { readonly rank: number; readonly signal: AbortSignal | undefined } {
  const { isBackground, signal, since = now } = turns.getStore() ?? NOW;
  return { rank: since.getTime() + (isBackground ? BACKGROUND_MS : 0), signal };
}
