/**
 * The trial of a suspect: a turn that was under way when its replica ended abruptly. It is executed while no other suspect
 * is, so that it stands alone if this replica ends, too.
 */
import { setTimer } from '../../../kernel/clock/timers.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';

/** A model may take longer to begin its answer; the other suspects wait so long at most. */
const FIRST_TRIAL_MS = 1_000;
/** A turn that has outlived its trial once and was under way at the next abrupt end. */
const LATER_TRIAL_MS = 30_000;

/** What a resumed turn shows though it has done nothing yet. */
const EMPTY_SIGNS: ReadonlySet<string> = new Set(['run.restarted', 'tool.executing']);

/**
 * Resolves when the trial is over: at the first sign of life, on a later trial at the end of a tool call; when the turn
 * rests or leaves this replica; or when its time is up.
 */
export async function waitForTrial(turn: LiveTurn, interruptions: number): Promise<void> {
  const isFirst = interruptions <= 1;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimer(resolve, isFirst ? FIRST_TRIAL_MS : LATER_TRIAL_MS);
  const stopListening = turn.listen(({ type }) => {
    if (isFirst ? !EMPTY_SIGNS.has(type) : type === 'tool.completed') resolve();
  });
  await Promise.race([promise, turn.done]);
  timer.cancel();
  stopListening();
}
