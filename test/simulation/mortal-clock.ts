/** The clock of one replica, which a test moves. It ends with the replica: no timer fires after that, and none is held. */
import { createManualClock, type ManualClock, type TurnedClock } from '../../src/kernel/clock/clock.ts';

export interface MortalClock extends TurnedClock, Pick<ManualClock, 'set'> {
  end(): void;
}

export function createMortalClock(start: Date): MortalClock {
  let living: ManualClock | undefined = createManualClock(start);
  let [last, lastElapsedMs] = [start, 0];
  return {
    now: () => living?.now() ?? new Date(last),
    elapsedMs: () => living?.elapsedMs() ?? lastElapsedMs,
    setTimer: (callback, delayMs) => living?.setTimer(callback, delayMs) ?? { cancel: () => undefined },
    set: (to) => living?.set(to),
    end() {
      if (living !== undefined) [last, lastElapsedMs] = [living.now(), living.elapsedMs()];
      living = undefined;
    },
  };
}
