/** A change that takes several commands, of which all are carried out or none. */
import type { MutationOutcome } from './registry.ts';

export interface Step {
  readonly send: () => Promise<MutationOutcome>;
  /** Undoes it, where a later one is refused. */
  readonly takeBack: () => Promise<MutationOutcome>;
  /** What comes after it cannot be done while the registry has not finished it: a later repetition does. */
  readonly endsWhenPending?: boolean;
}

/** `unknown` where what was done before a refusal could not be taken back. Rejects as the steps do. */
export async function takeSteps(steps: readonly Step[]): Promise<MutationOutcome> {
  let outcome: MutationOutcome = { kind: 'completed' };
  for (const [index, step] of steps.entries()) {
    outcome = await step.send();
    if (outcome.kind === 'pending' && step.endsWhenPending === true) return outcome;
    if (isTaken(outcome)) continue;
    for (const done of steps.slice(0, index).reverse()) {
      const undone = await done.takeBack();
      if (isTaken(undone)) continue;
      const reason = `${reasonOf(outcome)}; and what was changed before it was not taken back (${reasonOf(undone)})`;
      return { kind: 'unknown', reason };
    }
    return outcome;
  }
  return outcome;
}

function isTaken({ kind }: MutationOutcome): boolean {
  return kind === 'completed' || kind === 'pending';
}

function reasonOf(outcome: MutationOutcome): string {
  return 'reason' in outcome ? outcome.reason : outcome.kind;
}
