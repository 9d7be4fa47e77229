/** Advances one order as far as it gets now. See order.ts for the states. */
import { backoffMs } from '../../kernel/retry/backoff.ts';
import type { MutationOutcome, Registrant, Registry, RegistryDomain } from '../registry/registry.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import { addYears } from '../registry/term.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { LEASE_MS, type OrderDependencies } from './dependencies.ts';
import { failureCodeOf, type OrderOutcome, type OrderRow, orderOutcome } from './order.ts';
import { payOrder } from './pay-order.ts';
import { authCodeContext } from './place-order.ts';
import { completeOrder, failOrder, markPending } from './settle-order.ts';
import { countSubmission, findOrder, leaseOrder, updateOrder } from './store.ts';

/** Before the next check of an order whose command got no answer. */
const UNKNOWN_CHECK = { firstMs: 500, longestMs: 300_000 } as const;
/** Before the next check of an order that the registry has accepted; its message usually comes first. */
const PENDING_CHECK_MS = 30_000;
const PENDING_TRANSFER_CHECK_MS = 900_000;
/** A command that is pending for longer is sent again, which ends in a definite answer. */
const PENDING_LIMIT_MS = 14 * 86_400_000;
/** A registry's expiry may differ from the sum by the time of the day. */
const EXPIRY_TOLERANCE_MS = 2 * 86_400_000;

/** Leases the order, if it is free, and advances it. Never throws for what the registry or the payment provider do. */
export async function leaseAndAdvanceOrder(
  deps: OrderDependencies,
  workspaceId: string,
  orderId: string,
): Promise<void> {
  const now = deps.clock.now();
  const db = workspaceDb(deps.db, workspaceId);
  const order = await leaseOrder(db, orderId, now, new Date(now.getTime() + LEASE_MS));
  if (order === undefined) return;
  if (order.lapsed_leases > 0) {
    const fields = { order: order.id, ends: order.lapsed_leases };
    deps.logger.warn(fields, 'the process that worked on an order has ended without giving it back');
  }
  await advanceOrder(deps, order, { isFirst: false });
}

/**
 * Advances an order that the caller has leased as far as it gets. `isFirst`: the caller placed it just now, so nothing was
 * sent for it yet, although it is `submitted`.
 */
export async function advanceOrder(
  deps: OrderDependencies,
  leased: OrderRow,
  { isFirst }: { readonly isFirst: boolean },
): Promise<OrderOutcome> {
  let order = leased;
  if (order.state === 'paying') {
    const paid = await pay(deps, order);
    if (paid.state !== 'held') return orderOutcome(paid);
    order = paid;
  }
  if (order.state === 'pending') return orderOutcome(await checkPending(deps, order));
  if (order.state === 'submitted' && !isFirst) {
    const seen = await reconcile(deps, order);
    if (seen !== 'nothing') return orderOutcome(seen);
  }
  if (!isFirst || order.state === 'held') {
    const counted = await countSubmission(workspaceDb(deps.db, order.workspace_id), order.id, deps.clock.now());
    if (counted === undefined) return orderOutcome(await reread(deps, order));
    order = counted;
  }
  return orderOutcome(await submit(deps, order));
}

async function pay(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const outcome = await payOrder(deps, order);
  if (outcome.kind === 'declined') {
    const { kind, message } = outcome.failure;
    const failure = { code: 'payment_failed', message, details: { kind } } as const;
    await failOrder(deps, order, failure, { declined: outcome.failure });
  }
  if (outcome.kind === 'unknown') return scheduleCheck(deps, order, outcome.reason);
  return reread(deps, order);
}

async function submit(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const outcome = await send(deps, order);
  switch (outcome.kind) {
    case 'completed': {
      // A registry may report what it has done a little later.
      const info = await infoOrNothing(deps.registry, order.name);
      await completeOrder(deps, order, info?.isOurs === true ? info : undefined);
      return reread(deps, order);
    }
    case 'pending':
      return (await markPending(deps, order, dateAfter(deps, pendingCheckMs(order)))) ?? reread(deps, order);
    case 'rejected':
      return settleRejection(deps, order, outcome);
    case 'unknown':
      return scheduleCheck(deps, order, outcome.reason);
    default:
      return outcome satisfies never;
  }
}

async function send(deps: OrderDependencies, order: OrderRow): Promise<MutationOutcome> {
  const { registry, vault } = deps;
  // The id distinguishes the attempts of one order, in our log and in the registry's.
  const command = { name: order.name, transactionId: `${order.id}.${order.submissions}` };
  switch (order.kind) {
    case 'registration': {
      const { registrant, isPrivate } = await findRegistrant(deps, order);
      return registry.create({
        ...command,
        years: order.years,
        registrant,
        nameservers: deps.nameservers,
        isPrivate,
      });
    }
    case 'renewal':
      return registry.renew({
        ...command,
        years: order.years,
        currentExpiresAt: (order.from_expires_at ?? deps.clock.now()).toISOString(),
      });
    case 'transfer':
      return registry.transfer({
        ...command,
        years: order.years,
        authCode: vault.open(order.sealed_auth_code ?? '', authCodeContext(order.workspace_id, order.id)),
      });
    default:
      return order.kind satisfies never;
  }
}

async function findRegistrant(
  deps: OrderDependencies,
  order: OrderRow,
): Promise<{ registrant: Registrant; isPrivate: boolean }> {
  const row = await systemDb(deps.db)
    .selectFrom('users')
    .innerJoin('domains', 'domains.workspace_id', 'users.workspace_id')
    .select(['users.name', 'users.email', 'users.contact', 'domains.whois_privacy'])
    .where('users.workspace_id', '=', order.workspace_id)
    .where('domains.workspace_id', '=', order.workspace_id)
    .where('domains.id', '=', order.domain_id)
    .orderBy('users.created_at')
    .limit(1)
    .executeTakeFirstOrThrow();
  const { postal_code: postalCode, ...contact } = row.contact;
  return {
    registrant: { name: row.name, email: row.email, ...contact, ...(postalCode === undefined ? {} : { postalCode }) },
    isPrivate: row.whois_privacy,
  };
}

/**
 * A refusal. Where an earlier command of the order may have arrived, that one may be its cause (the name exists: it is ours;
 * the expiry differs: it was moved), so the registry is asked before the order fails.
 */
async function settleRejection(
  deps: OrderDependencies,
  order: OrderRow,
  rejection: Extract<MutationOutcome, { kind: 'rejected' }>,
): Promise<OrderRow> {
  if (order.submissions > 1) {
    const seen = await reconcile(deps, order);
    if (seen !== 'nothing') return seen;
    if (
      rejection.code === 'pending_transfer' ||
      (order.kind === 'registration' && rejection.code === 'object_exists')
    ) {
      return settleOwnEffect(deps, order, rejection.reason);
    }
  }
  await failOrder(deps, order, { code: failureCodeOf(order.kind), message: rejection.reason });
  return reread(deps, order);
}

/** The refusal shows the effect of a command that `info` does not report yet: of this order, or of another registrar. */
async function settleOwnEffect(deps: OrderDependencies, order: OrderRow, reason: string): Promise<OrderRow> {
  const info = await infoOrNothing(deps.registry, order.name);
  if (info !== undefined && !info.isOurs && order.kind === 'registration') {
    await failOrder(deps, order, { code: failureCodeOf(order.kind), message: reason });
    return reread(deps, order);
  }
  return (await markPending(deps, order, dateAfter(deps, pendingCheckMs(order)))) ?? reread(deps, order);
}

/** Asks the registry for the effect of a command whose outcome is not known. `nothing`: it answers and shows none. */
async function reconcile(deps: OrderDependencies, order: OrderRow): Promise<OrderRow | 'nothing'> {
  let info: RegistryDomain | undefined;
  try {
    info = await deps.registry.info(order.name);
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    return scheduleCheck(deps, order, error.message);
  }
  if (isDone(order, info)) {
    await completeOrder(deps, order, info);
    return reread(deps, order);
  }
  if (isUnderWay(order, info)) {
    return (await markPending(deps, order, dateAfter(deps, pendingCheckMs(order)))) ?? reread(deps, order);
  }
  return 'nothing';
}

/** Whether the registry shows what the order is for. */
export function isDone(order: OrderRow, info: RegistryDomain | undefined): info is RegistryDomain {
  if (info?.isOurs !== true || info.statuses.includes('pendingCreate')) return false;
  if (order.kind !== 'renewal') return true;
  const target = addYears(order.from_expires_at ?? new Date(0), order.years).getTime();
  return new Date(info.expiresAt).getTime() >= target - EXPIRY_TOLERANCE_MS;
}

/** Whether the registry shows that the order's command is pending. */
export function isUnderWay(order: OrderRow, info: RegistryDomain | undefined): boolean {
  const statuses = info?.statuses ?? [];
  switch (order.kind) {
    case 'registration':
      return info?.isOurs === true && statuses.includes('pendingCreate');
    case 'renewal':
      return statuses.includes('pendingRenew');
    case 'transfer':
      // The registry does not show who requested a transfer: one that was accepted for this order counts as its own.
      return order.state === 'pending' && statuses.includes('pendingTransfer');
    default:
      return order.kind satisfies never;
  }
}

async function checkPending(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const info = await infoOrNothing(deps.registry, order.name);
  if (isDone(order, info)) {
    await completeOrder(deps, order, info);
    return reread(deps, order);
  }
  const waitedMs = deps.clock.now().getTime() - order.created_at.getTime();
  const db = workspaceDb(deps.db, order.workspace_id);
  const now = deps.clock.now();
  if (waitedMs > PENDING_LIMIT_MS && !isUnderWay(order, info)) {
    const counted = await countSubmission(db, order.id, now);
    return counted === undefined ? reread(deps, order) : submit(deps, counted);
  }
  const nextLookAt = dateAfter(deps, pendingCheckMs(order));
  return (await updateOrder(db, order.id, ['pending'], { nextLookAt, isLeased: false, now })) ?? reread(deps, order);
}

/** Nothing is known: the order keeps its hold and is checked again, each time later. */
async function scheduleCheck(deps: OrderDependencies, order: OrderRow, reason: string): Promise<OrderRow> {
  const { logger, clock } = deps;
  logger.warn({ order: order.id, state: order.state, reason }, 'the outcome of an order is not known yet');
  const age = clock.now().getTime() - order.updated_at.getTime();
  const waitMs = Math.min(Math.max(backoffMs(order.submissions + 1, UNKNOWN_CHECK), 2 * age), UNKNOWN_CHECK.longestMs);
  const changed = await updateOrder(
    workspaceDb(deps.db, order.workspace_id),
    order.id,
    ['paying', 'held', 'submitted'],
    { nextLookAt: new Date(clock.now().getTime() + waitMs), isLeased: false, now: clock.now() },
  );
  return changed ?? reread(deps, order);
}

function pendingCheckMs({ kind }: OrderRow): number {
  return kind === 'transfer' ? PENDING_TRANSFER_CHECK_MS : PENDING_CHECK_MS;
}

function dateAfter({ clock }: OrderDependencies, ms: number): Date {
  return new Date(clock.now().getTime() + ms);
}

async function infoOrNothing(registry: Registry, name: string): Promise<RegistryDomain | undefined> {
  try {
    return await registry.info(name);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return undefined;
    throw error;
  }
}

async function reread(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  return (await findOrder(workspaceDb(deps.db, order.workspace_id), order.id)) ?? order;
}
