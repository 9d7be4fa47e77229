/** Rows of orders. Every query of a caller is scoped to one workspace by the handle that it is given. */

import { sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import { type SplitDue, splitDue } from '../../kernel/periodic/split-due.ts';
import { countLapsed, isFree } from '../lapsed-leases.ts';
import { isUnderZones } from '../portfolio/index.ts';
import type { HeldMark } from '../registry/registry.ts';
import type { Zones } from '../registry/routing-registry.ts';
import type { OrderState, WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';
import type { OrderFailure, OrderRow } from './order.ts';

/** Literals, not parameters: with parameters a prepared statement could not use the partial indexes. */
const isLive = sql<boolean>`state not in ('completed', 'failed')`;
const hasNotFailed = sql<boolean>`state <> 'failed'`;

export type NewOrder = Pick<
  OrderRow,
  | 'id'
  | 'kind'
  | 'origin'
  | 'domain_id'
  | 'name'
  | 'years'
  | 'amount_cents'
  | 'from_expires_at'
  | 'pays_with'
  | 'sealed_auth_code'
  | 'baseline'
  | 'registry_fee'
  | 'holder'
  | 'lock_days'
  | 'price_unasked'
  | 'claims_acceptance'
  | 'signed_mark'
  | 'mark_code'
  | 'mark_document'
  | 'is_application'
  | 'launch_phase'
  | 'application_cents'
  | 'application_refunded'
  | 'state'
  | 'submissions'
  | 'sent_at'
  | 'lease_until'
  | 'next_look_at'
  | 'idempotency_key'
  | 'fingerprint'
  | 'created_at'
>;

/** Throws the store's unique violation where another order stands for the same acquisition, term or key. */
export async function insertOrder(db: WorkspaceDb, order: NewOrder): Promise<OrderRow> {
  return db
    .insertInto('orders')
    .values({
      ...order,
      baseline: order.baseline === null ? null : json(order.baseline),
      registry_fee: order.registry_fee === null ? null : json(order.registry_fee),
      holder: order.holder === null ? null : json(order.holder),
      claims_acceptance: order.claims_acceptance === null ? null : json(order.claims_acceptance),
      launch_phase: order.launch_phase === null ? null : json(order.launch_phase),
      updated_at: order.created_at,
      error_code: null,
      error_message: null,
      error_details: null,
      ended_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** What its customer has of a trademark. */
export function heldMarkOf(order: Pick<OrderRow, 'mark_code' | 'mark_document' | 'signed_mark'>): HeldMark {
  const { mark_code: code, mark_document: mark, signed_mark: signed } = order;
  return { signedMark: signed ?? undefined, markCode: code ?? undefined, mark: mark ?? undefined };
}

/** The order that did not fail under this key. */
export async function findOrderByKey(db: WorkspaceDb, key: string): Promise<OrderRow | undefined> {
  return db.selectFrom('orders').selectAll().where('idempotency_key', '=', key).where(hasNotFailed).executeTakeFirst();
}

/** Frees an expired key. */
export async function freeKey(db: WorkspaceDb, key: string, endedBefore: Date): Promise<void> {
  await db
    .updateTable('orders')
    .set({ idempotency_key: null })
    .where('idempotency_key', '=', key)
    .where('ended_at', '<', endedBefore)
    .execute();
}

export async function findOrder(db: WorkspaceDb, id: string): Promise<OrderRow | undefined> {
  return db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The order of a domain that has not ended; the newest where there are several. */
export async function findLiveOrder(
  db: WorkspaceDb,
  domainId: string,
  kind?: OrderRow['kind'],
): Promise<OrderRow | undefined> {
  const query = db
    .selectFrom('orders')
    .selectAll()
    .where('domain_id', '=', domainId)
    .where(isLive)
    .orderBy('id', 'desc')
    .limit(1);
  return (kind === undefined ? query : query.where('kind', '=', kind)).executeTakeFirst();
}

const LEASE = { leaseUntil: 'lease_until', lapsedLeases: 'lapsed_leases' } as const;

/** Leases the order until then; undefined when it has ended or another process has the lease. */
export async function leaseOrder(db: WorkspaceDb, id: string, now: Date, until: Date): Promise<OrderRow | undefined> {
  return db
    .updateTable('orders')
    .set({ lease_until: until, lapsed_leases: countLapsed(LEASE), next_look_at: until })
    .where('id', '=', id)
    .where(isLive)
    .where(isFree(LEASE, now))
    .returningAll()
    .executeTakeFirst();
}

/** Keeps the lease that this process has. False: it has none any more. */
export async function extendLease(db: WorkspaceDb, id: string, held: Date, until: Date): Promise<boolean> {
  const extended = await db
    .updateTable('orders')
    .set({ lease_until: until, next_look_at: until })
    .where('id', '=', id)
    .where(isLive)
    .where('lease_until', '=', held)
    .executeTakeFirst();
  return extended.numUpdatedRows > 0n;
}

export interface OrderChange {
  readonly state?: OrderState;
  readonly nextLookAt?: Date | null;
  readonly isLeased?: boolean;
  readonly attention?: { readonly attention_since?: Date; readonly attention_reason?: string };
  readonly registrySaid?: string;
  readonly waitsForCredit?: boolean;
  readonly applicationId?: string | undefined;
  readonly now: Date;
}

/** Moves an order that has not ended; undefined when it has, or when it is in none of the states. */
export async function updateOrder(
  db: WorkspaceDb,
  id: string,
  from: readonly OrderState[],
  { state, nextLookAt, isLeased = true, attention = {}, registrySaid, waitsForCredit, applicationId, now }: OrderChange,
): Promise<OrderRow | undefined> {
  return db
    .updateTable('orders')
    .set({
      updated_at: now,
      ...(state === undefined ? {} : { state }),
      ...(nextLookAt === undefined ? {} : { next_look_at: nextLookAt }),
      ...(isLeased ? {} : { lease_until: null }),
      ...(registrySaid === undefined ? {} : { registry_said: registrySaid }),
      ...(waitsForCredit === undefined ? {} : { waits_for_credit: waitsForCredit }),
      ...(applicationId === undefined ? {} : { application_id: applicationId }),
      ...attention,
    })
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst();
}

/** Counts a command that is about to be sent. */
export async function countSubmission(db: WorkspaceDb, id: string, now: Date): Promise<OrderRow | undefined> {
  return db
    .updateTable('orders')
    .set({ state: 'submitted', submissions: sql<number>`submissions + 1`, sent_at: now, updated_at: now })
    .where('id', '=', id)
    .where('state', 'in', ['held', 'submitted', 'pending'])
    .returningAll()
    .executeTakeFirst();
}

/** Ends an order. Undefined when it has ended before, or where it is not as the caller has `seen` it. */
export async function endOrder(
  db: WorkspaceDb,
  id: string,
  end: {
    readonly now: Date;
    readonly failure?: OrderFailure;
    /** Its name is looked at again then; see failed-acquisitions.ts. */
    readonly lookAt?: Date | null;
    readonly seen?: Pick<OrderRow, 'submissions' | 'notice_until' | 'price_unasked'>;
  },
): Promise<OrderRow | undefined> {
  const { now, failure, lookAt = null, seen } = end;
  const query = db
    .updateTable('orders')
    .set({
      state: failure === undefined ? 'completed' : 'failed',
      error_code: failure?.code ?? null,
      error_message: failure?.message ?? null,
      error_details: failure?.details === undefined ? null : json(failure.details),
      sealed_auth_code: null,
      signed_mark: null,
      mark_code: null,
      mark_document: null,
      notice_until: null,
      notice_lookup_key: null,
      ...(failure?.registrySaid === undefined ? {} : { registry_said: failure.registrySaid }),
      waits_for_credit: false,
      lease_until: null,
      next_look_at: lookAt,
      updated_at: now,
      ended_at: now,
    })
    .where('id', '=', id)
    .where(isLive)
    .returningAll();
  if (seen === undefined) return query.executeTakeFirst();
  // Once its price is known the card is charged.
  return query
    .where('submissions', '=', seen.submissions)
    .where('price_unasked', '=', seen.price_unasked)
    .where('notice_until', 'is not distinct from', seen.notice_until)
    .executeTakeFirst();
}

/** Orders of every workspace that are due, those that have waited longest, in the order in which they were placed. */
export async function listDueOrders(
  db: SystemDb,
  now: Date,
  zones: Zones,
  limit: number,
): Promise<SplitDue<Pick<OrderRow, 'workspace_id' | 'id'>>> {
  const rows = await db
    .selectFrom('orders')
    .select(['workspace_id', 'id', 'created_at', 'next_look_at'])
    .where('next_look_at', 'is not', null)
    .where(isLive)
    .where(isUnderZones(zones))
    .where(isFree(LEASE, now))
    .orderBy('next_look_at')
    .limit(limit)
    .execute();
  const { due, nextInMs } = splitDue(rows, (row) => row.next_look_at, now);
  return { due: due.sort((a, b) => a.created_at.getTime() - b.created_at.getTime()), nextInMs };
}

/** Orders that have failed, of every workspace, whose names are to be looked at again. */
export async function listFailedOrdersDue(db: SystemDb, now: Date, zones: Zones, limit: number): Promise<OrderRow[]> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where(sql<boolean>`state = 'failed'`)
    .where('next_look_at', '<=', now)
    .where(isUnderZones(zones))
    .orderBy('next_look_at')
    .limit(limit)
    .execute();
}

/** False: another process has it. */
export async function claimFailedOrder(
  db: WorkspaceDb,
  { id, next_look_at: seen }: OrderRow,
  until: Date,
): Promise<boolean> {
  const claimed = await db
    .updateTable('orders')
    .set({ next_look_at: until })
    .where('id', '=', id)
    .where('state', '=', 'failed')
    .where('next_look_at', '=', seen)
    .executeTakeFirst();
  return claimed.numUpdatedRows > 0n;
}

/** The command that was counted was not sent after all. */
export async function uncountSubmission(
  db: WorkspaceDb,
  id: string,
  { nextLookAt, now }: { readonly nextLookAt: Date; readonly now: Date },
): Promise<OrderRow | undefined> {
  return db
    .updateTable('orders')
    .set({
      submissions: sql<number>`submissions - 1`,
      next_look_at: nextLookAt,
      lease_until: null,
      updated_at: now,
    })
    .where('id', '=', id)
    .where('state', 'in', ['submitted', 'pending'])
    .where('submissions', '>', 0)
    .returningAll()
    .executeTakeFirst();
}

/** The order of this name that waits for the registry. */
export async function findLiveOrderOfName(
  db: SystemDb,
  name: string,
  kind: WorkspaceTables['orders']['kind'],
): Promise<OrderRow | undefined> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where('name', '=', name)
    .where('kind', '=', kind)
    .where('state', 'in', ['submitted', 'pending'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}
