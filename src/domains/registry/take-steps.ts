/**
 * A change that takes several commands, of which all are carried out or none. Where neither can be had for now, as the registry is away, or
 * takes no more commands for a while, the outcome says so (`isHalfDone`): to ask for the same change again goes on with it.
 */
import type { MutationOutcome } from './registry.ts';
import { inTurnSince } from './turns/command-turn.ts';

export interface Step {
  readonly send: () => Promise<MutationOutcome>;
  /** Undoes it, where a later one is refused. */
  readonly takeBack: () => Promise<MutationOutcome>;
  /** What comes after it cannot be done while the registry has not finished it: a later repetition does. */
  readonly endsWhenPending?: boolean;
}

/** What was begun is finished before anything else is: a name may be unlocked meanwhile. */
const FIRST = new Date(0);

/** `isNoAnswer`: what steps reject with where the registry has not answered. Rejects with anything else, and with that of the first step. */
export async function takeSteps(
  steps: readonly Step[],
  isNoAnswer: (error: unknown) => error is Error,
): Promise<MutationOutcome> {
  let outcome: MutationOutcome = { kind: 'completed' };
  for (const [index, step] of steps.entries()) {
    const next = index === 0 ? await step.send() : await finish(step.send, isNoAnswer);
    if (next instanceof Error) return halfDone(next.message);
    outcome = next;
    if (outcome.kind === 'pending' && step.endsWhenPending === true) return outcome;
    if (isTaken(outcome)) continue;
    const reason = reasonOf(outcome);
    for (const done of steps.slice(0, index).reverse()) {
      const undone = await finish(done.takeBack, isNoAnswer);
      if (!(undone instanceof Error) && isTaken(undone)) continue;
      const why = undone instanceof Error ? undone.message : reasonOf(undone);
      return halfDone(`${reason}; and what was changed before it was not taken back (${why})`);
    }
    return outcome;
  }
  return outcome;
}

async function finish(
  work: () => Promise<MutationOutcome>,
  isNoAnswer: (error: unknown) => error is Error,
): Promise<MutationOutcome | Error> {
  try {
    return await inTurnSince(FIRST, work);
  } catch (error) {
    if (isNoAnswer(error)) return error;
    throw error;
  }
}

function halfDone(reason: string): MutationOutcome {
  return { kind: 'unknown', reason, isHalfDone: true };
}

function isTaken({ kind }: MutationOutcome): boolean {
  return kind === 'completed' || kind === 'pending';
}

function reasonOf(outcome: MutationOutcome): string {
  return 'reason' in outcome ? outcome.reason : outcome.kind;
}
