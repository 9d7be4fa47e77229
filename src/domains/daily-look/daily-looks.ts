/** The workers that look at names, one for each registry: one that is away, slow, or takes few commands keeps no other waiting. */
import { createPeriodicWorker, type PeriodicWorker, SPARE_LOOK_MS } from '../../kernel/periodic/periodic-worker.ts';
import { doDuty } from '../registry/duties.ts';
import { inBackground } from '../registry/turns/command-turn.ts';
import { createNameLooks, type DailyLookDependencies } from './look-at-names.ts';

export function createDailyLooks(deps: DailyLookDependencies, intervalMs: number): PeriodicWorker[] {
  return deps.registry.members.map((member) => {
    const looks = createNameLooks(deps, member);
    return createPeriodicWorker({
      name: `names at ${member.id}`,
      intervalMs,
      store: deps.db,
      quietMs: SPARE_LOOK_MS,
      logger: deps.logger,
      async pass(signal) {
        // Nothing is written each second for what is due a few times a day.
        if (!(await looks.areDue())) return;
        await doDuty(deps, { registry: member.id, duty: 'names' }, async ({ isKept }) => {
          const isToGoOn = async () => !signal.aborted && (await isKept());
          // Each list is due by itself: a long look must not come before orders that were placed meanwhile.
          const lookAtNext = () => inBackground(() => looks.lookAtNext(isToGoOn), { signal });
          while (await lookAtNext());
          // Whether any are due is known without asking the registry.
          return true;
        });
      },
    });
  });
}
