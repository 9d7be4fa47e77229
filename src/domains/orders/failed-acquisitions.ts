/**
 * Names that an order did not get, looked at again in the days after it failed. Where the registry hid from an order, more than once, that the
 * name is with our account already, nobody would know of it but by a list from the registry; found here, it waits for the operator.
 */
import pLimit from 'p-limit';
import { findOwner } from '../portfolio/index.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import type { Zones } from '../registry/routing-registry.ts';
import { inBackground } from '../registry/turns/command-turn.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import type { OrderRow } from './order.ts';
import { claimFailedOrder, listFailedOrdersDue } from './store.ts';
import { isUnassigned, noteUnassigned } from './unassigned-names.ts';

const DAY_MS = 86_400_000;
/** After the order has failed. */
const LOOKS_AFTER_MS = [DAY_MS, 3 * DAY_MS, 7 * DAY_MS];
/** Before a look whose answer did not come, or whose process died, is made again. */
const RETRY_MS = 3_600_000;
const BATCH_SIZE = 50;
const CONCURRENCY = 2;

/** When it is looked at next; null: not any more, or never, as nothing was sent for it or it acquires nothing. */
export function nextLookAfterFailure(
  { kind, submissions }: Pick<OrderRow, 'kind' | 'submissions'>,
  failedAt: Date,
  now: Date,
): Date | null {
  if ((kind !== 'registration' && kind !== 'transfer') || submissions === 0) return null;
  const sinceMs = now.getTime() - failedAt.getTime();
  const next = LOOKS_AFTER_MS.find((afterMs) => afterMs > sinceMs);
  return next === undefined ? null : new Date(failedAt.getTime() + next);
}

/** Those that are due, each by one process. */
export async function lookAtFailedOrders(deps: OrderDependencies, zones: Zones, signal?: AbortSignal): Promise<void> {
  const { clock, db, logger } = deps;
  const due = await listFailedOrdersDue(systemDb(db), clock.now(), zones, BATCH_SIZE);
  await pLimit(CONCURRENCY).map(due, async (order) => {
    if (signal?.aborted === true) return;
    const retryAt = new Date(clock.now().getTime() + RETRY_MS);
    if (!(await claimFailedOrder(workspaceDb(db, order.workspace_id), order, retryAt))) return;
    await inBackground(() => look(deps, order), { signal }).catch((error: unknown) => {
      if (!(error instanceof RegistryUnavailable)) throw error;
      logger.info({ order: order.id, reason: error.message }, 'a name that an order did not get is looked at later');
    });
  });
}

async function look({ clock, db, logger, registry }: OrderDependencies, order: OrderRow): Promise<void> {
  const { ended_at: endedAt, id, name, workspace_id: workspaceId } = order;
  const now = clock.now();
  let next = endedAt === null ? null : nextLookAfterFailure(order, endedAt, now);
  if ((await findOwner(systemDb(db), name)) !== undefined || (await isUnassigned(systemDb(db), name))) next = null;
  else {
    const info = await registry.info(name);
    if (info?.isOurs === true) {
      const { expiresAt, registryId } = info;
      await noteUnassigned({ db, clock, logger }, { name, registryId, expiresAt, orderId: id });
      next = null;
    }
  }
  await workspaceDb(db, workspaceId)
    .updateTable('orders')
    .set({ next_look_at: next })
    .where('id', '=', id)
    .where('state', '=', 'failed')
    .execute();
}
