/** One order, as far as it can be brought now. See order.ts for the states. */
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

/** Between two looks at an order whose command got no answer. */
const LOOKS = { firstMs: 500, longestMs: 300_000 } as const;
/** Looks at an order that the registry has taken; its messages usually come first. */
const PENDING_LOOK_MS = 30_000;
const PENDING_TRANSFER_LOOK_MS = 900_000;
/** After so long without news the command is sent again, which ends in a definite answer. */
const PENDING_PATIENCE_MS = 14 * 86_400_000;
/** A registry's expiry may differ from the sum by the time of the day. */
const EXPIRY_TOLERANCE_MS = 2 * 86_400_000;

/** Takes the order, if nobody has it, and works on it. Never throws for what the registry or the card company do. */
export async function leaseAndAdvanceOrder(
  deps: OrderDependencies,
  workspaceId: string,
  orderId: string,
): Promise<void> {
  const now = deps.clock.now();
  const db = workspaceDb(deps.db, workspaceId);
  const order = await leaseOrder(db, orderId, now, new Date(now.getTime() + LEASE_MS));
  if (order !== undefined) await advanceOrder(deps, order, { isFirst: false });
}

/**
 * Brings an order that the caller has leased as far as it goes. `isFirst`: the caller placed it just now, so nothing was
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
  if (order.state === 'pending') return orderOutcome(await lookAtPending(deps, order));
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
  if (outcome.kind === 'unknown') return lookAgain(deps, order, outcome.reason);
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
      return (await markPending(deps, order, lookAfter(deps, pendingLook(order)))) ?? reread(deps, order);
    case 'rejected':
      return settleRejection(deps, order, outcome);
    case 'unknown':
      return lookAgain(deps, order, outcome.reason);
    default:
      return outcome satisfies never;
  }
}

async function send(deps: OrderDependencies, order: OrderRow): Promise<MutationOutcome> {
  const { registry, vault } = deps;
  // The id tells the tries of one order apart, in our log and in the registry's.
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
 * A refusal. Where an earlier command of the order may have arrived, the refusal may be its echo (the name exists: it is
 * ours; the expiry is another: it was moved), so the registry is asked before the order fails.
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
      return settleEcho(deps, order, rejection.reason);
    }
  }
  await failOrder(deps, order, { code: failureCodeOf(order.kind), message: rejection.reason });
  return reread(deps, order);
}

/** The registry has the effect of some command and reports nothing of it yet, or it is another registrar's. */
async function settleEcho(deps: OrderDependencies, order: OrderRow, reason: string): Promise<OrderRow> {
  const info = await infoOrNothing(deps.registry, order.name);
  if (info !== undefined && !info.isOurs && order.kind === 'registration') {
    await failOrder(deps, order, { code: failureCodeOf(order.kind), message: reason });
    return reread(deps, order);
  }
  return (await markPending(deps, order, lookAfter(deps, pendingLook(order)))) ?? reread(deps, order);
}

/** Looks for the effect of a command whose outcome is not known. `nothing`: the registry answers and shows none. */
async function reconcile(deps: OrderDependencies, order: OrderRow): Promise<OrderRow | 'nothing'> {
  let info: RegistryDomain | undefined;
  try {
    info = await deps.registry.info(order.name);
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    return lookAgain(deps, order, error.message);
  }
  if (isDone(order, info)) {
    await completeOrder(deps, order, info);
    return reread(deps, order);
  }
  if (isUnderWay(order, info)) {
    return (await markPending(deps, order, lookAfter(deps, pendingLook(order)))) ?? reread(deps, order);
  }
  return 'nothing';
}

/** Whether what the order is for can be seen. */
export function isDone(order: OrderRow, info: RegistryDomain | undefined): info is RegistryDomain {
  if (info?.isOurs !== true || info.statuses.includes('pendingCreate')) return false;
  if (order.kind !== 'renewal') return true;
  const target = addYears(order.from_expires_at ?? new Date(0), order.years).getTime();
  return new Date(info.expiresAt).getTime() >= target - EXPIRY_TOLERANCE_MS;
}

/** Whether the registry shows that it is at work on what the order is for. */
export function isUnderWay(order: OrderRow, info: RegistryDomain | undefined): boolean {
  const statuses = info?.statuses ?? [];
  switch (order.kind) {
    case 'registration':
      return info?.isOurs === true && statuses.includes('pendingCreate');
    case 'renewal':
      return statuses.includes('pendingRenew');
    case 'transfer':
      // Whose transfer it is cannot be seen. An order that was taken for its requester's stays so.
      return order.state === 'pending' && statuses.includes('pendingTransfer');
    default:
      return order.kind satisfies never;
  }
}

async function lookAtPending(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const info = await infoOrNothing(deps.registry, order.name);
  if (isDone(order, info)) {
    await completeOrder(deps, order, info);
    return reread(deps, order);
  }
  const waitedMs = deps.clock.now().getTime() - order.created_at.getTime();
  const db = workspaceDb(deps.db, order.workspace_id);
  const now = deps.clock.now();
  if (waitedMs > PENDING_PATIENCE_MS && !isUnderWay(order, info)) {
    const counted = await countSubmission(db, order.id, now);
    return counted === undefined ? reread(deps, order) : submit(deps, counted);
  }
  const nextLookAt = lookAfter(deps, pendingLook(order));
  return (await updateOrder(db, order.id, ['pending'], { nextLookAt, isLeased: false, now })) ?? reread(deps, order);
}

/** Nothing is known: the order keeps its hold and is looked at again, each time later. */
async function lookAgain(deps: OrderDependencies, order: OrderRow, reason: string): Promise<OrderRow> {
  const { logger, clock } = deps;
  logger.warn({ order: order.id, state: order.state, reason }, 'the outcome of an order is not known yet');
  const age = clock.now().getTime() - order.updated_at.getTime();
  const waitMs = Math.min(Math.max(backoffMs(order.submissions + 1, LOOKS), 2 * age), LOOKS.longestMs);
  const changed = await updateOrder(
    workspaceDb(deps.db, order.workspace_id),
    order.id,
    ['paying', 'held', 'submitted'],
    { nextLookAt: new Date(clock.now().getTime() + waitMs), isLeased: false, now: clock.now() },
  );
  return changed ?? reread(deps, order);
}

function pendingLook({ kind }: OrderRow): number {
  return kind === 'transfer' ? PENDING_TRANSFER_LOOK_MS : PENDING_LOOK_MS;
}

function lookAfter({ clock }: OrderDependencies, ms: number): Date {
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
