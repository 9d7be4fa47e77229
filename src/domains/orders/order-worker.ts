/**
 * Brings orders to their end: advances those that are due, reads the registry's messages, sends refunds, and looks at
 * names. Every replica runs one; leases and unique rows keep two from doing the same work.
 */

import pLimit from 'p-limit';
import {
  createPeriodicWorker,
  type PeriodicPass,
  type PeriodicWorker,
  SPARE_LOOK_MS,
  UNTOLD_LOOK_MS,
} from '../../kernel/periodic/periodic-worker.ts';
import { noteBalance } from '../balances/index.ts';
import { createDailyLooks } from '../daily-look/index.ts';
import { announceTransfer, findDomainById, findOwner, syncDomain } from '../portfolio/index.ts';
import { doDuty, expectMessages } from '../registry/duties.ts';
import { explainFailure } from '../registry/explain-refusal.ts';
import { RegistryBusy, type RegistryMember, type RegistryMessage, RegistryUnavailable } from '../registry/registry.ts';
import { type Zones, zonesByRegistry } from '../registry/routing-registry.ts';
import { inBackground, withSignal } from '../registry/turns/command-turn.ts';
import type { OrderKind } from '../tables.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { leaseAndAdvanceOrder } from './advance-order.ts';
import { applicationFailure, explainMoney, isAboutApplication } from './applications.ts';
import { deferMessage, followDeferred } from './deferred-messages.ts';
import type { OrderDependencies } from './dependencies.ts';
import { readEvidence } from './evidence.ts';
import { lookAtFailedOrders } from './failed-acquisitions.ts';
import { failureCodeOf } from './order.ts';
import { sendRefunds } from './pay-order.ts';
import { completeOrder, failOrder } from './settle-order.ts';
import { findLiveOrderOfName, listDueOrders } from './store.ts';
import { keepUnknownMessage } from './unknown-messages.ts';
import { acknowledgeOrTell, pollOrTell } from './unreadable-queues.ts';

/** Orders and messages of one sweep. */
const BATCH_SIZE = 50;
/** Orders that are advanced at a time: each mostly waits for the registry or the payment provider. */
const CONCURRENCY = 5;
const SWEEP_MS = 1_000;
/** They are due after days. */
const FAILED_LOOK_MS = 60_000;
/** How far the clocks of the registry and this service may be apart. */
const CLOCK_TOLERANCE_MS = 300_000;

export interface OrderWorker {
  /** Everything that is due by the clock, once, and whatever the registries' queues have by now. */
  sweep(): Promise<void>;
  /** Sweeps now and each second. */
  start(): void;
  /** Resolves when the sweep under way has ended. */
  stop(): Promise<void>;
}

export function createOrderWorker(deps: OrderDependencies, sweepMs = SWEEP_MS): OrderWorker {
  const { logger, registry } = deps;
  const createWorker = (name: string, pass: PeriodicPass, quietMs?: number) =>
    createPeriodicWorker({ name, intervalMs: sweepMs, store: deps.db, pass, logger, ...(quietMs && { quietMs }) });
  // One each: a registry that is away, slow, or takes few commands keeps no other waiting.
  const orders = zonesByRegistry(registry).map(({ id, zones }) =>
    createWorker(`orders at ${id}`, (signal) => advanceDueOrders(deps, zones, signal), UNTOLD_LOOK_MS),
  );
  const refunds = createWorker('refunds', () => sendRefunds(deps));
  const readers = registry.members.map(
    (member) => (signal?: AbortSignal) =>
      doDuty(deps, { registry: member.id, duty: 'messages' }, ({ dueAt, isKept }) =>
        inBackground(() => readQueue(deps, member, isKept), { signal, since: dueAt }),
      ),
  );
  const queues = readers.map((read, index) => createWorker(`messages of ${registry.members[index]?.id}`, read));
  const names = createDailyLooks(deps, sweepMs);
  const failed = zonesByRegistry(registry).map(({ id, zones }) =>
    createPeriodicWorker({
      name: `names that orders did not get at ${id}`,
      intervalMs: FAILED_LOOK_MS,
      store: deps.db,
      quietMs: SPARE_LOOK_MS,
      pass: (signal) => lookAtFailedOrders(deps, zones, signal),
      logger,
    }),
  );
  const workers = [...queues, ...orders, refunds, ...names, ...failed];
  const runAll = (some: readonly PeriodicWorker[]) => Promise.all(some.map((worker) => worker.runPass()));
  return {
    async sweep() {
      for (const { id } of registry.members) await expectMessages(deps.db, id, deps.clock.now());
      await Promise.all(readers.map((read) => read()));
      // Whoever reads them already is waited for.
      await runAll(queues);
      await runAll([...orders, refunds]);
      await runAll([...names, ...failed]);
    },
    start() {
      for (const worker of workers) worker.start();
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

async function advanceDueOrders(
  deps: OrderDependencies,
  zones: Zones,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { db, clock, logger } = deps;
  const { due, nextInMs } = await listDueOrders(systemDb(db), clock.now(), zones, BATCH_SIZE);
  await pLimit(CONCURRENCY).map(due, async ({ workspace_id: workspaceId, id }) => {
    if (signal.aborted) return;
    await withSignal(signal, () => leaseAndAdvanceOrder(deps, workspaceId, id)).catch((error: unknown) =>
      logger.error({ err: error, order: id }, 'an order could not be worked on; it is tried again later'),
    );
  });
  return nextInMs;
}

/** Each message is applied before it is acknowledged: applying one again changes nothing. */
async function readQueue(
  deps: OrderDependencies,
  member: RegistryMember,
  isKept: () => Promise<boolean>,
): Promise<boolean> {
  let count = 0;
  try {
    for (; count < BATCH_SIZE && (await isKept()); count += 1) {
      const message = await pollOrTell(deps, member);
      if (message === undefined) break;
      await applyOrDefer(deps, member, message);
      await acknowledgeOrTell(deps, member, message.id);
    }
    const hasFollowed = await followDeferred(deps, member.id, (message) => applyMessage(deps, member, message));
    return hasFollowed || count > 0;
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    logUnread(deps, member, error, 'the messages of the registry cannot be read now');
  }
  return count > 0;
}

/** One about a name that the registry does not answer about keeps those behind it from nothing. */
async function applyOrDefer(deps: OrderDependencies, member: RegistryMember, message: RegistryMessage): Promise<void> {
  try {
    await applyMessage(deps, member, message);
  } catch (error) {
    if (!(error instanceof RegistryUnavailable) || error instanceof RegistryBusy) throw error;
    await deferMessage(deps, member.id, message, error);
  }
}

/** That others come first at a registry that takes few commands is as it should be. */
function logUnread(
  { logger }: OrderDependencies,
  { id: registry }: Pick<RegistryMember, 'id'>,
  error: RegistryUnavailable,
  what: string,
): void {
  const level = error instanceof RegistryBusy ? 'info' : 'warn';
  logger[level]({ registry, reason: error.message }, what);
}

async function applyMessage(deps: OrderDependencies, member: RegistryMember, message: RegistryMessage): Promise<void> {
  const { name, kind, text, queuedAt } = message;
  const { id: registry } = member;
  const failure = { reason: text, queuedAt: new Date(queuedAt), message };
  switch (kind) {
    case 'registration_completed':
      return completeByName(deps, name, 'registration', failure.queuedAt);
    case 'renewal_completed':
      return completeByName(deps, name, 'renewal', failure.queuedAt);
    case 'transfer_completed':
      return completeByName(deps, name, 'transfer', failure.queuedAt);
    case 'trade_completed':
      return completeByName(deps, name, 'trade', failure.queuedAt);
    case 'registration_failed':
      return failByName(deps, name, 'registration', failure);
    case 'renewal_failed':
      return failByName(deps, name, 'renewal', failure);
    case 'transfer_failed':
      return failByName(deps, name, 'transfer', failure);
    case 'trade_failed':
      return failByName(deps, name, 'trade', failure);
    case 'transferred_away':
      await announceTransfer(deps.db, name, deps.clock.now());
      return syncLostDomain(deps, name);
    case 'deleted':
      return syncLostDomain(deps, name);
    case 'transfer_requested':
    case 'transfer_out_ended':
      return announceTransfer(deps.db, name, deps.clock.now());
    case 'notice':
      deps.logger.info({ registry, name, kind, text }, 'message of the registry');
      return;
    case 'low_balance':
      deps.logger.error({ registry, text }, 'the registry says that our account there has little left');
      return message.balance === undefined ? undefined : noteBalance(deps, member, message.balance);
    case 'other':
      deps.logger.warn({ registry, name, kind, text }, 'a message of the registry is kept for the operator');
      return keepUnknownMessage(deps, registry, message);
    case 'unreadable':
      deps.logger.error(
        { registry, name, text },
        'a message of the registry cannot be read: it waits for the operator',
      );
      return keepUnknownMessage(deps, registry, message);
    default:
      return kind satisfies never;
  }
}

async function completeByName(deps: OrderDependencies, name: string, kind: OrderKind, queuedAt: Date): Promise<void> {
  const order = await findLiveOrderOfName(systemDb(deps.db), name, kind);
  if (order === undefined) return;
  const info = await deps.registry.info(name);
  // The message may be about an earlier order of the name.
  const isAnnounced = queuedAt.getTime() >= order.created_at.getTime() - CLOCK_TOLERANCE_MS;
  const evidence = await readEvidence(deps, order, info, { isAnnounced });
  if (evidence === 'done') await completeOrder(deps, order, info);
}

/**
 * Fails the order, unless the registry's object shows otherwise. A message from before the order is about an earlier one:
 * failing for it would refund a name that is still being registered.
 */
async function failByName(
  deps: OrderDependencies,
  name: string,
  kind: Exclude<OrderKind, 'restoration'>,
  {
    message,
    reason,
    queuedAt,
  }: { readonly message: RegistryMessage; readonly reason: string; readonly queuedAt: Date },
): Promise<void> {
  const order = await findLiveOrderOfName(systemDb(deps.db), name, kind);
  if (order === undefined || queuedAt.getTime() < order.created_at.getTime() - CLOCK_TOLERANCE_MS) return;
  const info = await deps.registry.info(name);
  const evidence = await readEvidence(deps, order, info);
  if (evidence === 'done' || evidence === 'under_way') return;
  // A registry that tells of trades and shows none of the order's has sent this about an earlier one.
  if (kind === 'trade' && evidence === 'nothing' && (await deps.registry.tradeOf(name)) !== undefined) return;
  if (isAboutApplication(order, message)) {
    const failure = { ...applicationFailure(order, deps.clock.now()), registrySaid: reason };
    await failOrder(deps, order, failure, { isApplicationLost: true });
    return;
  }
  if (kind === 'registration' && info === undefined && (await isTaken(deps, name))) return;
  await failOrder(deps, order, {
    code: failureCodeOf(kind),
    message: `${explainFailure(kind, name)} ${explainMoney(order)}`,
    registrySaid: reason,
  });
}

/** Taken, although the registry shows no object: it is being registered, and the message is about an earlier attempt. */
async function isTaken({ registry }: OrderDependencies, name: string): Promise<boolean> {
  const [found] = await registry.check([name]);
  if (found === undefined || found.availability === 'unknown') {
    throw new RegistryUnavailable(`the registry does not say whether ${name} is taken`);
  }
  return found.availability === 'taken';
}

/** The registry's message says that the name is not ours any more: its object has to say so too. */
async function syncLostDomain({ db, registry, clock }: OrderDependencies, name: string): Promise<void> {
  const owner = await findOwner(systemDb(db), name);
  if (owner === undefined) return;
  const row = await findDomainById(workspaceDb(db, owner.workspace_id), owner.id);
  if (row !== undefined) await syncDomain({ db, registry, now: clock.now() }, row, { isAnnounced: true });
}
