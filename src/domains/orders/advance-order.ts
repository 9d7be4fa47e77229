/** Advances one order as far as it gets now. See order.ts for the states. */
import { noteCreditRefusal } from '../balances/index.ts';
import { explainFailure, explainRefusal, type Refusal } from '../registry/explain-refusal.ts';
import type { Registry, RegistryDomain } from '../registry/registry.ts';
import { RegistryBusy, RegistryUnavailable } from '../registry/registry.ts';
import { memberOf } from '../registry/routing-registry.ts';
import { inTurnSince } from '../registry/turns/command-turn.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { applicationFailure, askedApplicationOf, explainMoney } from './applications.ts';
import { attentionOf, NO_CREDIT, nextCreditLookMs, nextTurnLookMs, nextUnknownLookMs } from './attention.ts';
import { lacksBaseline, takeBaseline } from './baseline.ts';
import { LEASE_MS, type OrderDependencies } from './dependencies.ts';
import { type Evidence, evidenceOrNothing, readEvidence } from './evidence.ts';
import { keepLease } from './keep-lease.ts';
import { failureCodeOf, type OrderFailure, type OrderOutcome, type OrderRow, orderOutcome } from './order.ts';
import { payOrder } from './pay-order.ts';
import { sendCommand } from './send-command.ts';
import { completeOrder, failOrder, markPending } from './settle-order.ts';
import { type PriceOutcome, settlePrice } from './settle-price.ts';
import { countSubmission, findOrder, leaseOrder, uncountSubmission, updateOrder } from './store.ts';
import { noteUnassigned } from './unassigned-names.ts';

/** Before the next check of an order that the registry has accepted; its message usually comes first. */
const PENDING_CHECK_MS = 30_000;
const PENDING_TRANSFER_CHECK_MS = 900_000;
/** Nothing comes of looking at it but by the registry's message, or by its end. */
const APPLICATION_LOOK_MS = 3_600_000;
/** A command that is pending for longer is sent again, which ends in a definite answer. */
const PENDING_LIMIT_MS = 14 * 86_400_000;

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
export function advanceOrder(
  deps: OrderDependencies,
  leased: OrderRow,
  { isFirst }: { readonly isFirst: boolean },
): Promise<OrderOutcome> {
  return keepLease(deps, leased, () => inTurnSince(leased.created_at, () => advanceLeased(deps, leased, isFirst)));
}

async function advanceLeased(deps: OrderDependencies, leased: OrderRow, isFirst: boolean): Promise<OrderOutcome> {
  let order = leased;
  if (order.price_unasked) {
    const priced = await settlePrice(deps, order);
    if (priced.kind !== 'agreed') return orderOutcome(await withoutPrice(deps, order, priced));
    order = priced.order;
  }
  if (order.state === 'paying') {
    const paid = await pay(deps, order);
    if (paid.state !== 'held') return orderOutcome(paid);
    order = paid;
  }
  if (order.state === 'pending') return orderOutcome(await checkPending(deps, order));
  const hasSent = !isFirst && !lacksBaseline(order) && order.submissions > 0;
  if (lacksBaseline(order)) {
    const begun = await begin(deps, order);
    if (begun.kind === 'waits') return orderOutcome(begun.order);
    order = begun.order;
  }
  if (order.baseline?.kind === 'ours') return orderOutcome(await failAsOurs(deps, order));
  const obstacle = tradeObstacle(order);
  if (obstacle !== undefined) {
    await failOrder(deps, order, { code: 'trade_failed', message: obstacle });
    return orderOutcome(await reread(deps, order));
  }
  if (order.state === 'submitted' && hasSent) {
    const seen = await reconcile(deps, order);
    if (seen !== 'nothing') return orderOutcome(seen);
    if (order.is_application && !order.waits_for_credit) return orderOutcome(await waitForApplication(deps, order));
  }
  if (hasSent || order.submissions === 0) {
    const counted = await countSubmission(workspaceDb(deps.db, order.workspace_id), order.id, deps.clock.now());
    if (counted === undefined) return orderOutcome(await reread(deps, order));
    order = counted;
  }
  return orderOutcome(await submit(deps, order));
}

async function withoutPrice(
  deps: OrderDependencies,
  order: OrderRow,
  priced: Exclude<PriceOutcome, { readonly kind: 'agreed' }>,
): Promise<OrderRow> {
  switch (priced.kind) {
    case 'failed': {
      const declined = { kind: 'invalid_amount', message: priced.failure.message } as const;
      await failOrder(deps, order, priced.failure, order.state === 'paying' ? { declined } : {});
      return reread(deps, order);
    }
    case 'unsaid':
      return waitForAnswer(deps, order, priced.error);
    case 'waits':
      return reread(deps, order);
    default:
      return priced satisfies never;
  }
}

/** Writes down what the registry has of the name before anything is sent. `waits`: it does not answer, or another worker does so. */
async function begin(
  deps: OrderDependencies,
  order: OrderRow,
): Promise<{ readonly kind: 'begun' | 'waits'; readonly order: OrderRow }> {
  try {
    const begun = await takeBaseline(deps, order);
    return begun === undefined ? { kind: 'waits', order: await reread(deps, order) } : { kind: 'begun', order: begun };
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    return { kind: 'waits', order: await waitForAnswer(deps, order, error) };
  }
}

/** Nobody gets a name that our registrar account had before the order: the operator says whose it is. */
async function failAsOurs(
  deps: OrderDependencies,
  order: OrderRow,
  info?: RegistryDomain,
  rejection?: Refusal,
): Promise<OrderRow> {
  const { baseline, kind, name } = order;
  const registryId = info?.registryId ?? baseline?.registryId ?? '';
  const expiresAt = info?.expiresAt ?? baseline?.expiresAt;
  await noteUnassigned(deps, { name, registryId, expiresAt, orderId: order.id });
  await failOrder(deps, order, {
    code: failureCodeOf(kind),
    message: `${name} is not available. ${explainMoney(order)}`,
    ...(rejection === undefined ? {} : { registrySaid: rejection.reason }),
  });
  return reread(deps, order);
}

/** Why nothing is sent for a trade: it would be nobody's doing, or another one's. */
function tradeObstacle({ baseline, name, submissions }: OrderRow): string | undefined {
  if (submissions > 1) return undefined;
  if (baseline?.kind === 'held') return `${name} has that holder at its registry already. Nothing was charged.`;
  if (baseline?.kind !== 'trading') return undefined;
  return `The registry is giving ${name} another holder already. Wait until that has ended. Nothing was charged.`;
}

/** The registry has taken it, and has ended it since. */
async function failAsRefused(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const message = `${explainFailure('trade', order.name)} Nothing was charged.`;
  await failOrder(deps, order, { code: failureCodeOf(order.kind), message });
  return reread(deps, order);
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
  const outcome = await sendCommand(deps, order);
  switch (outcome.kind) {
    case 'completed': {
      // A registry may report what it has done a little later.
      const info = await infoOrNothing(deps.registry, order.name);
      return (await completeOrder(deps, order, info?.isOurs === true ? info : undefined)) ?? reread(deps, order);
    }
    case 'pending': {
      const nextLookAt = dateAfter(deps, pendingCheckMs(order));
      return (await markPending(deps, order, nextLookAt, outcome.applicationId)) ?? reread(deps, order);
    }
    case 'rejected':
      return settleRejection(deps, order, outcome);
    case 'unknown':
      return outcome.isUnsent ? waitForTurn(deps, order) : scheduleCheck(deps, order, outcome.reason);
    default:
      return outcome satisfies never;
  }
}

/**
 * A refusal. Where an earlier command of the order may have arrived, that one may be its cause (the name exists: it is ours;
 * the expiry differs: it was moved), so the registry is asked before the order fails.
 */
async function settleRejection(deps: OrderDependencies, order: OrderRow, rejection: Refusal): Promise<OrderRow> {
  if (order.submissions > 1) {
    const seen = await reconcile(deps, order);
    if (seen !== 'nothing') return seen;
    if (
      rejection.code === 'pending_transfer' ||
      (order.kind === 'registration' && rejection.code === 'object_exists') ||
      (order.kind === 'transfer' && (await isMoving(deps, order)))
    ) {
      return settleOwnEffect(deps, order, rejection);
    }
  }
  if (rejection.code === 'no_credit') return waitForCredit(deps, order, rejection);
  const isFirst = order.submissions === 1;
  if (isFirst && (order.kind === 'transfer' || (order.kind === 'registration' && rejection.code === 'object_exists'))) {
    // It has done nothing, so a name that is ours was so before, though the baseline did not show it.
    const info = await infoOrNothing(deps.registry, order.name);
    if (info?.isOurs === true) return failAsOurs(deps, order, info, rejection);
  }
  return (await failOrder(deps, order, failureOf(order, rejection))) ?? reread(deps, order);
}

/** It is being transferred, perhaps by the earlier command, whatever the refusal says. */
async function isMoving({ registry }: OrderDependencies, { name }: OrderRow): Promise<boolean> {
  return (await infoOrNothing(registry, name))?.statuses.includes('pendingTransfer') === true;
}

function failureOf({ kind, name }: OrderRow, rejection: Refusal): OrderFailure {
  const message = `${explainRefusal(kind, name, rejection)} Nothing was charged.`;
  return { code: failureCodeOf(kind), message, registrySaid: rejection.reason };
}

/** Our account at the registry does not cover it: the hold stays, a person has to look, and it is sent again, each time later. */
async function waitForCredit(deps: OrderDependencies, order: OrderRow, { reason }: Refusal): Promise<OrderRow> {
  const { logger, clock, db } = deps;
  logger.error(
    { order: order.id, name: order.name, reason },
    'the registry carries nothing out that costs something: our account there has no credit. Orders keep their money and wait; pay the ' +
      'registry, and see `ironcraft domains order list`',
  );
  const member = memberOf(deps.registry, order.name);
  if (member !== undefined) await noteCreditRefusal(deps, member.id);
  const now = clock.now();
  const changed = await updateOrder(workspaceDb(db, order.workspace_id), order.id, ['submitted', 'pending'], {
    state: 'submitted',
    nextLookAt: new Date(now.getTime() + nextCreditLookMs(order, now)),
    isLeased: false,
    registrySaid: reason,
    waitsForCredit: true,
    attention: order.attention_since === null ? { attention_since: now, attention_reason: NO_CREDIT } : {},
    now,
  });
  return changed ?? reread(deps, order);
}

/** The refusal shows the effect of a command that `info` does not report yet: of this order, or of another registrar. */
async function settleOwnEffect(deps: OrderDependencies, order: OrderRow, rejection: Refusal): Promise<OrderRow> {
  const { evidence, info } = await evidenceOrNothing(deps, order);
  if (evidence === 'ours_before') return failAsOurs(deps, order, info);
  if (info !== undefined && !info.isOurs && order.kind === 'registration') {
    await failOrder(deps, order, failureOf(order, rejection));
    return reread(deps, order);
  }
  return (await markPending(deps, order, dateAfter(deps, pendingCheckMs(order)))) ?? reread(deps, order);
}

/** Asks the registry for the effect of a command whose outcome is not known. `nothing`: it answers and shows none. */
async function reconcile(deps: OrderDependencies, order: OrderRow): Promise<OrderRow | 'nothing'> {
  let info: RegistryDomain | undefined;
  let evidence: Evidence;
  try {
    info = await deps.registry.info(order.name);
    evidence = await readEvidence(deps, order, info);
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    return waitForAnswer(deps, order, error);
  }
  switch (evidence) {
    case 'done':
      return (await completeOrder(deps, order, info)) ?? reread(deps, order);
    case 'under_way':
      return (await markPending(deps, order, dateAfter(deps, pendingCheckMs(order)))) ?? reread(deps, order);
    case 'ours_before':
      return failAsOurs(deps, order, info);
    case 'unclear':
      return waitForOperator(deps, order);
    case 'refused':
      return failAsRefused(deps, order);
    case 'nothing':
      return 'nothing';
    default:
      return evidence satisfies never;
  }
}

async function checkPending(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const { evidence, info } = await evidenceOrNothing(deps, order);
  if (evidence === 'done') return (await completeOrder(deps, order, info)) ?? reread(deps, order);
  if (evidence === 'ours_before') return failAsOurs(deps, order, info);
  if (evidence === 'refused') return failAsRefused(deps, order);
  if (evidence === 'nothing' && (await isApplicationRejected(deps, order))) {
    await failOrder(deps, order, applicationFailure(order, deps.clock.now()), { isApplicationLost: true });
    return reread(deps, order);
  }
  const waitedMs = deps.clock.now().getTime() - order.created_at.getTime();
  const db = workspaceDb(deps.db, order.workspace_id);
  const now = deps.clock.now();
  const isSentAgain = !order.is_application && order.kind !== 'trade';
  if (waitedMs > PENDING_LIMIT_MS && evidence !== 'under_way' && isSentAgain) {
    const counted = await countSubmission(db, order.id, now);
    return counted === undefined ? reread(deps, order) : submit(deps, counted);
  }
  const nextLookAt = dateAfter(deps, pendingCheckMs(order));
  // A sunrise lasts for months.
  const attention =
    order.application_id === null
      ? attentionOf(order, 'The registry took the order and has not finished it.', now)
      : {};
  return (
    (await updateOrder(db, order.id, ['pending'], { nextLookAt, isLeased: false, attention, now })) ??
    reread(deps, order)
  );
}

/** The order did it, or somebody by hand: whoever knows ends it. Its price stays set aside. */
async function waitForOperator(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const { clock, db, logger } = deps;
  const now = clock.now();
  if (order.attention_since === null) logger.error({ order: order.id, name: order.name }, RESTORED_BY_WHOM);
  const attention = order.attention_since === null ? { attention_since: now, attention_reason: RESTORED_BY_WHOM } : {};
  const nextLookAt = new Date(now.getTime() + nextUnknownLookMs(order, now));
  const change = { nextLookAt, isLeased: false, attention, now };
  return (
    (await updateOrder(workspaceDb(db, order.workspace_id), order.id, ['submitted'], change)) ?? reread(deps, order)
  );
}

const RESTORED_BY_WHOM =
  'The answer to a restoration was lost, the name is restored, and the registry does not tell whether by this order: end it with ' +
  '`ironcraft domains order complete`, or `cancel` where somebody restored the name by hand.';

async function isApplicationRejected({ registry }: OrderDependencies, order: OrderRow): Promise<boolean> {
  const application = askedApplicationOf(order);
  if (application === undefined) return false;
  try {
    return (await registry.applicationOf(application)) === 'rejected';
  } catch (error) {
    if (error instanceof RegistryUnavailable) return false;
    throw error;
  }
}

/** It may have arrived, and the registry has not said as what: a second one would be another application. */
async function waitForApplication(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const { clock, db, logger } = deps;
  const reason =
    'Whether the application has arrived is not known. Look for it at the registry, and end the order by that.';
  logger.error({ order: order.id, name: order.name }, 'whether an application has arrived is not known');
  const now = clock.now();
  const changed = await updateOrder(workspaceDb(db, order.workspace_id), order.id, ['submitted'], {
    nextLookAt: new Date(now.getTime() + APPLICATION_LOOK_MS),
    isLeased: false,
    attention: order.attention_since === null ? { attention_since: now, attention_reason: reason } : {},
    now,
  });
  return changed ?? reread(deps, order);
}

function waitForAnswer(deps: OrderDependencies, order: OrderRow, error: RegistryUnavailable): Promise<OrderRow> {
  if (!(error instanceof RegistryBusy)) return scheduleCheck(deps, order, error.message);
  const delayMs = nextTurnLookMs(order, deps.clock.now());
  return scheduleCheck(deps, order, error.message, delayMs);
}

/** The command was not sent: the registry takes so many, and others came first. It has not to be looked for, and its turn comes. */
async function waitForTurn(deps: OrderDependencies, order: OrderRow): Promise<OrderRow> {
  const now = deps.clock.now();
  const nextLookAt = new Date(now.getTime() + nextTurnLookMs(order, now));
  const db = workspaceDb(deps.db, order.workspace_id);
  return (await uncountSubmission(db, order.id, { nextLookAt, now })) ?? reread(deps, order);
}

/** Nothing is known: the order keeps its hold and is checked again, each time later. */
async function scheduleCheck(
  deps: OrderDependencies,
  order: OrderRow,
  reason: string,
  delayMs = nextUnknownLookMs(order, deps.clock.now()),
): Promise<OrderRow> {
  const { logger, clock } = deps;
  logger.warn({ order: order.id, state: order.state, reason }, 'the outcome of an order is not known yet');
  const now = clock.now();
  const nextLookAt = new Date(now.getTime() + delayMs);
  const changed = await updateOrder(
    workspaceDb(deps.db, order.workspace_id),
    order.id,
    ['paying', 'held', 'submitted'],
    { nextLookAt, isLeased: false, attention: attentionOf(order, reason, now), now },
  );
  return changed ?? reread(deps, order);
}

function pendingCheckMs({ application_id: applicationId, kind }: OrderRow): number {
  if (applicationId !== null) return APPLICATION_LOOK_MS;
  return kind === 'transfer' || kind === 'trade' ? PENDING_TRANSFER_CHECK_MS : PENDING_CHECK_MS;
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
