/** A lease that lasts as long as the work on its order: several commands to a slow registry take longer than any lease should. */
import { setTicker } from '../../kernel/clock/timers.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { LEASE_MS, type OrderDependencies } from './dependencies.ts';
import type { OrderRow } from './order.ts';
import { extendLease } from './store.ts';

/** Twice within a lease, and once more for one that is late. */
const BEAT_MS = LEASE_MS / 3;

/**
 * Extends the lease of the order while `work` runs, which may end it at any time. Where the lease cannot be extended (the database is
 * away, the process stands still), another process may take the order; it asks the registry before it sends anything.
 */
export async function keepLease<Result>(
  deps: Pick<OrderDependencies, 'db' | 'clock' | 'logger' | 'leaseBeatMs'>,
  { id, lease_until: leaseUntil, workspace_id: workspaceId }: OrderRow,
  work: () => Promise<Result>,
): Promise<Result> {
  const { clock, logger, leaseBeatMs = BEAT_MS } = deps;
  const db = workspaceDb(deps.db, workspaceId);
  let held = leaseUntil;
  let isBeating = false;
  const beat = async () => {
    if (held === null || isBeating) return;
    isBeating = true;
    try {
      const until = new Date(clock.now().getTime() + LEASE_MS);
      held = (await extendLease(db, id, held, until)) ? until : null;
    } catch (error) {
      logger.warn({ err: error, order: id }, 'the lease of an order was not extended; it is tried again');
    } finally {
      isBeating = false;
    }
  };
  const timer = setTicker(() => void beat(), leaseBeatMs);
  try {
    return await work();
  } finally {
    timer.cancel();
  }
}
