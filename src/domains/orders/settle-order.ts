/**
 * The two ends of an order, each in one transaction: the order's row, its money, and the name in the portfolio. The name's
 * row is locked first, as in placing an order: in another order the two could deadlock.
 */
import { sql } from 'kysely';
import type { Transaction } from '../../kernel/db/database.ts';
import type { WaitingChange } from '../changes/index.ts';
import { appendEvent, appendEvents } from '../events/index.ts';
import { type DomainRow, dropAcquisition, endOfPaidTerm, lockDomain, reported } from '../portfolio/index.ts';
import { getRegistrant, missingContact, registrantAtRegistry } from '../registrant.ts';
import { expectMessages } from '../registry/duties.ts';
import { type Registry, type RegistryDomain, RegistryUnavailable } from '../registry/registry.ts';
import { memberOf } from '../registry/routing-registry.ts';
import { addDays, addYears } from '../registry/term.ts';
import { capture, release } from '../wallet/index.ts';
import type { PaymentFailure } from '../wallet/payments/payments.ts';
import { type WorkspaceDb, workspaceDb } from '../workspace-scope.ts';
import { takeApplication } from './applications.ts';
import type { OrderDependencies } from './dependencies.ts';
import { nextLookAfterFailure } from './failed-acquisitions.ts';
import { factsOf, type OrderFailure, type OrderRow } from './order.ts';
import { expiryOf, mayBeAbsorbed, paidUntil, restoredUntil } from './paid-until.ts';
import { openRefund, recordDecline } from './pay-order.ts';
import { endOrder, updateOrder } from './store.ts';

interface Settlement extends Pick<OrderDependencies, 'db' | 'clock'> {
  readonly registry: Pick<Registry, 'habitsOf' | 'transferOf'>;
}

interface RecordParts extends Pick<Settlement, 'registry'> {
  readonly now: Date;
  readonly transferredUntil: Date | undefined;
}

/**
 * The registry has carried it out: the hold is captured, the name is active. `info` is what it reports now, if anything
 * yet. Undefined when the order has ended before.
 */
export async function completeOrder(
  deps: Settlement,
  order: OrderRow,
  info: RegistryDomain | undefined,
): Promise<OrderRow | undefined> {
  const now = deps.clock.now();
  const transferredUntil = await askTransferredUntil(deps.registry, order, now);
  return deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, order.workspace_id);
    await lockDomain(db, order.domain_id);
    const ended = await endOrder(db, order.id, { now });
    if (ended === undefined) return undefined;
    const term = await recordTerm(tx, order, info, { registry: deps.registry, now, transferredUntil });
    // The wallet comes last: all orders of the workspace wait for its row.
    await Promise.all([
      tellCompleted(tx, ended, term),
      order.amount_cents > 0 && capture(tx, { workspaceId: order.workspace_id, orderId: order.id }),
    ]);
    return ended;
  });
}

/** Only where the end of the term does not tell alone what the transfer has added. */
async function askTransferredUntil(
  registry: Settlement['registry'],
  order: OrderRow,
  now: Date,
): Promise<Date | undefined> {
  if (!mayBeAbsorbed(order, registry.habitsOf(order.name), now)) return undefined;
  try {
    const transfer = await registry.transferOf(order.name);
    return transfer?.isOurs !== true || transfer.expiresAt === undefined ? undefined : new Date(transfer.expiresAt);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return undefined;
    throw error;
  }
}

const GAINED = {
  registration: 'domain.registered',
  renewal: 'domain.renewed',
  transfer: 'domain.transferred_in',
  restoration: 'domain.restored',
  trade: 'domain.traded',
} as const;

async function tellCompleted(tx: Transaction, order: OrderRow, { expires_at, billed_until }: Term): Promise<void> {
  const { workspace_id: workspaceId, kind, name } = order;
  const term = { expires_at: expires_at?.toISOString() ?? null, billed_until: billed_until?.toISOString() ?? null };
  await appendEvents(tx, workspaceId, [
    { type: 'order.completed', data: factsOf(order) },
    { type: GAINED[kind], data: { domain: name, order_id: order.id, ...term } },
  ]);
}

type Term = Pick<DomainRow, 'expires_at' | 'billed_until'>;

/** The term of the name afterwards. */
async function recordTerm(
  tx: Transaction,
  order: OrderRow,
  info: RegistryDomain | undefined,
  parts: RecordParts,
): Promise<Term> {
  const record = RECORDS[order.kind] ?? recordPaidTerm;
  const recorded = await record(tx, order, info, parts);
  return recorded ?? { expires_at: null, billed_until: null };
}

const RECORDS: Readonly<Partial<Record<OrderRow['kind'], typeof recordPaidTerm>>> = {
  restoration: recordRestoration,
  trade: recordTrade,
};

async function recordPaidTerm(
  tx: Transaction,
  order: OrderRow,
  info: RegistryDomain | undefined,
  parts: RecordParts,
): Promise<Term | undefined> {
  const habits = parts.registry.habitsOf(order.name);
  const until = paidUntil(order, { ...parts, info, habits });
  const shown = expiryOf(info) ?? until;
  return workspaceDb(tx, order.workspace_id)
    .updateTable('domains')
    .set({
      ...(info === undefined ? {} : reported(info, parts)),
      state: 'active',
      billed_until: until,
      expires_at: endOfPaidTerm(habits, until, shown),
      renewal_state: order.kind === 'renewal' ? 'renewed' : 'not_due',
      renewal_reason: null,
      renewal_shortfall_cents: null,
      ...(await ofNewName(tx, order, info, parts)),
      // The registrar that had the name knows its auth code.
      ...(order.kind === 'transfer' ? { auth_code_until: parts.now, auth_code_look_at: parts.now } : {}),
      // Buying a further term takes back a scheduled release.
      ...(order.kind === 'renewal' ? { release_at: null } : {}),
    })
    .where('id', '=', order.domain_id)
    .where('state', '<>', 'gone')
    .returning(['expires_at', 'billed_until'])
    .executeTakeFirst();
}

/** What its registry gives back for a while, and what is to be changed there next: the lock, and of a name that has come its holder. */
async function ofNewName(
  tx: Transaction,
  { kind, name, workspace_id }: OrderRow,
  info: RegistryDomain | undefined,
  { now, registry }: RecordParts,
) {
  if (kind !== 'registration' && kind !== 'transfer') return {};
  const habits = registry.habitsOf(name);
  const { addGrace, locksNewNames } = habits;
  const isLocked = info?.statuses.includes('clientTransferProhibited') === true;
  const holder = kind === 'transfer' ? await getRegistrant(workspaceDb(tx, workspace_id)) : undefined;
  const wanted: WaitingChange = {
    ...(locksNewNames === true && !isLocked ? { transferLocked: true } : {}),
    // A registry leaves it with the contacts of who had it before.
    ...(holder === undefined || missingContact([habits], holder.contact).length > 0
      ? {}
      : { registrant: registrantAtRegistry(holder) }),
  };
  const createdAt = info?.createdAt === undefined ? now : new Date(info.createdAt);
  return {
    registrant_since: now,
    ...(kind === 'registration' && addGrace !== undefined
      ? { add_grace_until: addDays(createdAt, addGrace.days), add_grace_fee_cents: addGrace.feeCents }
      : {}),
    ...(Object.keys(wanted).length === 0 ? {} : wanting(wanted, now)),
  };
}

/** It is as it was before its deletion; auto-renew, which that turned off, is for its owner to turn on. */
async function recordRestoration(
  tx: Transaction,
  order: OrderRow,
  info: RegistryDomain | undefined,
  parts: RecordParts,
): Promise<Term | undefined> {
  const db = workspaceDb(tx, order.workspace_id);
  const row = await db.selectFrom('domains').selectAll().where('id', '=', order.domain_id).executeTakeFirstOrThrow();
  const shown = expiryOf(info) ?? (row.expires_at && addYears(row.expires_at, order.years));
  const until = restoredUntil(row, order, { ...parts, info });
  return db
    .updateTable('domains')
    .set({
      ...(info === undefined ? { synced_at: null } : reported(info, parts)),
      billed_until: until,
      ...(until === null || shown === null
        ? {}
        : { expires_at: endOfPaidTerm(parts.registry.habitsOf(order.name), until, shown) }),
      redemption_since: null,
      deletion_sent_at: null,
      release_at: null,
      suspended_at: null,
      // Whether the registry has kept it out of the DNS meanwhile is not known.
      ...(row.held_at === null ? {} : { hold_look_at: parts.now }),
      renewal_state: row.auto_renew ? 'not_due' : 'off',
      renewal_reason: null,
      renewal_shortfall_cents: null,
    })
    .where('id', '=', order.domain_id)
    .where('state', '<>', 'gone')
    .returning(['expires_at', 'billed_until'])
    .executeTakeFirst();
}

/** Its term is as it was. The days in which it cannot be transferred begin, as they do where a change of the registrant takes no trade. */
async function recordTrade(
  tx: Transaction,
  order: OrderRow,
  info: RegistryDomain | undefined,
  parts: RecordParts,
): Promise<Term | undefined> {
  const { now } = parts;
  const lockDays = order.lock_days ?? 0;
  return workspaceDb(tx, order.workspace_id)
    .updateTable('domains')
    .set({
      ...(info === undefined ? { synced_at: null } : reported(info, parts)),
      ...(lockDays > 0
        ? { transfer_locked_until: addDays(now, lockDays), ...wanting({ transferLocked: true }, now) }
        : {}),
    })
    .where('id', '=', order.domain_id)
    .where('state', '<>', 'gone')
    .returning(['expires_at', 'billed_until'])
    .executeTakeFirst();
}

/** To be changed at the registry next, beside what waits to be changed already. */
function wanting(change: WaitingChange, now: Date) {
  return {
    change_wanted: sql<string>`coalesce(change_wanted, '{}'::jsonb) || ${JSON.stringify(change)}::jsonb`,
    change_wanted_at: now,
    change_look_at: now,
  };
}

/** The registry has accepted it and will report its end later; `applicationId`: as what. */
export async function markPending(
  deps: OrderDependencies,
  order: OrderRow,
  nextLookAt: Date,
  applicationId?: string,
): Promise<OrderRow | undefined> {
  const now = deps.clock.now();
  const change = { state: 'pending', nextLookAt, isLeased: false, applicationId, now } as const;
  const mark = (scoped: WorkspaceDb) => updateOrder(scoped, order.id, ['submitted', 'pending'], change);
  const pending =
    applicationId === undefined
      ? await mark(workspaceDb(deps.db, order.workspace_id))
      : await deps.db.transaction(async (tx) => {
          const applied = await mark(workspaceDb(tx, order.workspace_id));
          return applied && takeApplication(tx, applied, now);
        });
  const member = memberOf(deps.registry, order.name);
  if (member !== undefined && order.state !== 'pending') await expectMessages(deps.db, member.id, now);
  return pending;
}

/**
 * Nothing was bought: the hold is released or the charge refunded, and a name that was being acquired leaves the
 * portfolio. `isApplicationLost`: the registry had taken the application, so what that costs is kept where it does not come back. Where more commands were sent than the caller knows to be answered, another worker has the order; where its notice was accepted
 * meanwhile, it goes on: nothing happens. Undefined then, or when the order has ended before.
 */
export async function failOrder(
  deps: Pick<OrderDependencies, 'db' | 'clock'>,
  order: OrderRow,
  failure: OrderFailure,
  options: { readonly declined?: PaymentFailure; readonly isApplicationLost?: boolean } = {},
): Promise<OrderRow | undefined> {
  const now = deps.clock.now();
  const { workspace_id: workspaceId, domain_id: domainId, name } = order;
  return deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, workspaceId);
    await lockDomain(db, domainId);
    const lookAt = nextLookAfterFailure(order, now, now);
    const failed = await endOrder(db, order.id, { now, failure, lookAt, seen: order });
    if (failed === undefined) return undefined;
    const ended = options.isApplicationLost === true ? await takeApplication(tx, failed, now) : failed;
    if (options.declined !== undefined) await recordDecline(tx, order, options.declined);
    else if (order.pays_with === 'card') await openRefund(tx, ended);
    else if (order.amount_cents > 0) await release(tx, { workspaceId, orderId: order.id });
    if (order.kind === 'renewal') {
      await db
        .updateTable('domains')
        .set({ renewal_state: 'failed', renewal_reason: failure.message })
        .where('id', '=', domainId)
        .execute();
    } else if (order.kind === 'registration' || order.kind === 'transfer') {
      await dropAcquisition(tx, { workspaceId, domainId, name }, now);
    }
    const { code, message } = failure;
    const data = { ...factsOf(ended), error: code, message };
    await appendEvent(tx, workspaceId, { type: 'order.failed', data });
    return ended;
  });
}
