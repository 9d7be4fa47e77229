/**
 * Brings orders to their end: advances those that are due, reads the registry's messages, sends refunds, and refreshes stale
 * snapshots of names. Every replica runs one; leases and unique rows keep two from doing the same work.
 */
import pLimit from 'p-limit';
import { createPeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import { noteBalance } from '../balances/index.ts';
import {
  announceTransfer,
  areTooManyMissing,
  findDomainById,
  findOwner,
  listStaleDomains,
  MISSING_LOOK_MS,
  syncDomain,
} from '../portfolio/index.ts';
import { explainFailure } from '../registry/explain-refusal.ts';
import { type RegistryMember, type RegistryMessage, RegistryUnavailable } from '../registry/registry.ts';
import type { OrderKind } from '../tables.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { leaseAndAdvanceOrder } from './advance-order.ts';
import type { OrderDependencies } from './dependencies.ts';
import { readEvidence } from './evidence.ts';
import { failureCodeOf } from './order.ts';
import { sendRefunds } from './pay-order.ts';
import { completeOrder, failOrder } from './settle-order.ts';
import { findLiveOrderOfName, listDueOrders } from './store.ts';
import { keepUnknownMessage } from './unknown-messages.ts';

/** Orders, messages and names of one sweep. */
const BATCH_SIZE = 50;
/** Orders that are advanced at a time: each mostly waits for the registry or the payment provider. */
const CONCURRENCY = 5;
const SWEEP_MS = 1_000;
const STALE_AFTER_MS = 24 * 3_600_000;
/** Between two queries for a name that the registry has not reported yet. */
const UNREPORTED_AFTER_MS = 60_000;
const TOO_MANY_MISSING =
  'the registry says of more than one name in a thousand that it is not ours: its answers may be wrong. No name is retired, and only ' +
  'those that are missing are asked about; see `ironcraft domains name missing`';
/** How far the clocks of the registry and this service may be apart. */
const CLOCK_TOLERANCE_MS = 300_000;

export interface OrderWorker {
  /** Everything that is due by the clock, once. */
  sweep(): Promise<void>;
  /** Sweeps now and each second. */
  start(): void;
  /** Resolves when the sweep under way has ended. */
  stop(): Promise<void>;
}

export function createOrderWorker(deps: OrderDependencies, sweepMs = SWEEP_MS): OrderWorker {
  const { logger, registry } = deps;
  const createWorker = (name: string, pass: () => Promise<void>) =>
    createPeriodicWorker({ name, intervalMs: sweepMs, pass, logger });
  const orders = createWorker('orders', () => runParts(deps, [advanceDueOrders, sendRefunds]));
  // One each: a registry that is away or slow keeps neither orders nor the other registries waiting.
  const queues = registry.members.map((member) =>
    createWorker(`messages of ${member.id}`, () => readQueue(deps, member)),
  );
  const names = registry.members.map((member) => createWorker(`names at ${member.id}`, () => syncStale(deps, member)));
  const workers = [...queues, orders, ...names];
  return {
    async sweep() {
      await Promise.all(queues.map((worker) => worker.runPass()));
      await orders.runPass();
      await Promise.all(names.map((worker) => worker.runPass()));
    },
    start() {
      for (const worker of workers) worker.start();
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

type Part = (deps: OrderDependencies) => Promise<void>;

/** A part that fails does not keep the others from running. */
async function runParts(deps: OrderDependencies, parts: readonly Part[]): Promise<void> {
  for (const part of parts) {
    await part(deps).catch((error: unknown) =>
      deps.logger.error(
        { err: error, part: part.name },
        'a part of the sweep of orders failed; it runs again with the next',
      ),
    );
  }
}

async function advanceDueOrders(deps: OrderDependencies): Promise<void> {
  const { db, clock, logger } = deps;
  const due = await listDueOrders(systemDb(db), clock.now(), BATCH_SIZE);
  await pLimit(CONCURRENCY).map(due, ({ workspace_id: workspaceId, id }) =>
    leaseAndAdvanceOrder(deps, workspaceId, id).catch((error: unknown) =>
      logger.error({ err: error, order: id }, 'an order could not be worked on; it is tried again later'),
    ),
  );
}

/** Each message is applied before it is acknowledged: applying one again changes nothing. */
async function readQueue(deps: OrderDependencies, member: RegistryMember): Promise<void> {
  try {
    for (let count = 0; count < BATCH_SIZE; count += 1) {
      const polled = await member.poll();
      if (polled === undefined) return;
      await applyMessage(deps, member, polled.message);
      await member.acknowledge(polled.message.id);
    }
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    deps.logger.warn({ registry: member.id, reason: error.message }, 'the messages of the registry cannot be read now');
  }
}

async function applyMessage(deps: OrderDependencies, member: RegistryMember, message: RegistryMessage): Promise<void> {
  const { name, kind, text, queuedAt } = message;
  const { id: registry } = member;
  const failure = { reason: text, queuedAt: new Date(queuedAt) };
  switch (kind) {
    case 'registration_completed':
      return completeByName(deps, name, 'registration', failure.queuedAt);
    case 'renewal_completed':
      return completeByName(deps, name, 'renewal', failure.queuedAt);
    case 'transfer_completed':
      return completeByName(deps, name, 'transfer', failure.queuedAt);
    case 'registration_failed':
      return failByName(deps, name, 'registration', failure);
    case 'renewal_failed':
      return failByName(deps, name, 'renewal', failure);
    case 'transfer_failed':
      return failByName(deps, name, 'transfer', failure);
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
  const evidence = await readEvidence(deps.registry, order, info, { isAnnounced });
  if (evidence === 'done') await completeOrder(deps, order, info);
}

/**
 * Fails the order, unless the registry's object shows otherwise. A message from before the order is about an earlier one:
 * failing for it would refund a name that is still being registered.
 */
async function failByName(
  deps: OrderDependencies,
  name: string,
  kind: OrderKind,
  { reason, queuedAt }: { readonly reason: string; readonly queuedAt: Date },
): Promise<void> {
  const order = await findLiveOrderOfName(systemDb(deps.db), name, kind);
  if (order === undefined || queuedAt.getTime() < order.created_at.getTime() - CLOCK_TOLERANCE_MS) return;
  const info = await deps.registry.info(name);
  const evidence = await readEvidence(deps.registry, order, info);
  if (evidence === 'done' || evidence === 'under_way') return;
  if (kind === 'registration' && info === undefined && (await isTaken(deps, name))) return;
  await failOrder(deps, order, {
    code: failureCodeOf(kind),
    message: `${explainFailure(kind, name)} Nothing was charged.`,
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

/** Refreshes names that were not read for a day, and those that the registry has not reported yet. */
async function syncStale(deps: OrderDependencies, { id, zones }: RegistryMember): Promise<void> {
  const { db, registry, clock, logger } = deps;
  const now = clock.now();
  const before = {
    synced: new Date(now.getTime() - STALE_AFTER_MS),
    unreported: new Date(now.getTime() - UNREPORTED_AFTER_MS),
    missing: new Date(now.getTime() - MISSING_LOOK_MS),
  };
  const stale = await listStaleDomains(systemDb(db), before, zones, BATCH_SIZE);
  let isStopped = stale.length > 0 && (await areTooManyMissing(db, now, zones));
  try {
    for (const { workspace_id: workspaceId, id: domainId, missing_since: missingSince } of stale) {
      // A registry that answers wrongly is asked about those names alone, until it shows them again.
      if (isStopped && missingSince === null) continue;
      const row = await findDomainById(workspaceDb(db, workspaceId), domainId);
      if (row === undefined) continue;
      const after = await syncDomain({ db, registry, now }, row);
      const isNewlyMissing = missingSince === null && after !== undefined && after.missing_since !== null;
      if (!isNewlyMissing) continue;
      logger.warn({ domain: row.name }, 'the registry says that a name is not ours; it stays until that is confirmed');
      isStopped = await areTooManyMissing(db, now, zones);
      if (isStopped) logger.error({ domain: row.name }, TOO_MANY_MISSING);
    }
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    logger.warn({ registry: id, reason: error.message }, 'the registry cannot be asked about names now');
  }
}
