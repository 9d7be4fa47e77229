/**
 * What the launch of its TLD demands of a registration whose registry did not say it when the order was placed. Where a trademark claims the
 * name and its notice was not accepted, the order asks its customer, and waits:
 *
 *   claimed ──▶ asked for, until a time ──accepted──▶ asked of the registry again, and sent
 *                          └──── not in time ──▶ failed (money back)
 *
 * Nothing is charged or sent meanwhile.
 */
import { sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Caller } from '../access/caller.ts';
import { acceptNotice, type GivenForLaunch, readLaunchNeed } from '../claims/index.ts';
import { appendEvent } from '../events/index.ts';
import { isAcceptanceLive } from '../registry/claims-notices.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import { factsOf, type OrderFailure, type OrderRow } from './order.ts';
import { findOrder, heldMarkOf } from './store.ts';

/** As long as an acceptance counts. */
const NOTICE_WAIT_MS = 48 * 3_600_000;

export type LaunchTermsOfOrder = Pick<OrderRow, 'claims_acceptance' | 'launch_phase'>;

export type LaunchOutcome =
  | { readonly kind: 'met'; readonly terms: LaunchTermsOfOrder }
  | { readonly kind: 'notice_wanted'; readonly lookupKey: string };

/** Throws as `readLaunchNeed`. */
export async function settleLaunch(deps: OrderDependencies, order: OrderRow): Promise<LaunchOutcome> {
  const { claims_acceptance: acceptance, name } = order;
  const need = await readLaunchNeed(deps, name, heldMarkOf(order));
  const launchPhase = need.application ?? null;
  switch (need.kind) {
    case 'none':
    case 'mark':
      return { kind: 'met', terms: { claims_acceptance: null, launch_phase: launchPhase } };
    case 'claims_notice':
      if (acceptance === null || !isAcceptanceLive(acceptance, deps.clock.now())) {
        return { kind: 'notice_wanted', lookupKey: need.lookupKey };
      }
      return { kind: 'met', terms: { claims_acceptance: acceptance, launch_phase: launchPhase } };
    default:
      return need satisfies never;
  }
}

/** What customers are led to. */
export function noticePathOf({ name }: Pick<OrderRow, 'name'>): string {
  return `/claims-notices/${name}`;
}

/** Has the order wait, and tells its workspace. Undefined: another worker has done so, its customer was faster, or it has ended. */
export async function askForNotice(
  { clock, db }: OrderDependencies,
  order: OrderRow,
  lookupKey: string,
): Promise<OrderRow | undefined> {
  const now = clock.now();
  const until = new Date(now.getTime() + NOTICE_WAIT_MS);
  const { claims_acceptance: ended, id, workspace_id: workspaceId } = order;
  return db.transaction(async (tx) => {
    const waiting = await workspaceDb(tx, workspaceId)
      .updateTable('orders')
      .set({
        notice_until: until,
        notice_lookup_key: lookupKey,
        claims_acceptance: null,
        next_look_at: until,
        lease_until: null,
        updated_at: now,
      })
      .where('id', '=', id)
      .where('price_unasked', '=', true)
      .where('notice_until', 'is', null)
      .where(sql<boolean>`claims_acceptance is not distinct from ${ended === null ? null : json(ended)}::jsonb`)
      .where('state', 'in', ['paying', 'submitted'])
      .returningAll()
      .executeTakeFirst();
    if (waiting === undefined) return undefined;
    const data = { ...factsOf(waiting), notice: noticePathOf(waiting), until: until.toISOString() };
    await appendEvent(tx, workspaceId, { type: 'order.notice_required', data });
    return waiting;
  });
}

/** It was looked at too early. One whose notice was accepted meanwhile stays due. */
export async function waitForNotice({ db, clock }: OrderDependencies, order: OrderRow): Promise<void> {
  await workspaceDb(db, order.workspace_id)
    .updateTable('orders')
    .set({
      next_look_at: sql<Date>`coalesce(notice_until, next_look_at)`,
      lease_until: null,
      updated_at: clock.now(),
    })
    .where('id', '=', order.id)
    .where('state', 'in', ['paying', 'submitted'])
    .execute();
}

export function noticeNotAccepted({ name, notice_until: until }: OrderRow): OrderFailure {
  return {
    code: 'registration_failed',
    message:
      `A trademark claims ${name}, and its notice was not accepted before ${until?.toISOString()}. Nothing was charged. ` +
      `Read GET ${noticePathOf({ name })}, and if you accept it buy the name with \`claims_notice\`.`,
    details: { reason: 'claims_notice_required', notice: noticePathOf({ name }) },
  };
}

/**
 * Accepts the notice that an order waits for, and has it go on. To accept the same one again changes nothing. Throws `not_found` where the
 * workspace has no such order or it waits for none, and what `acceptNotice` throws.
 */
export async function acceptNoticeOfOrder(
  { clock, db }: OrderDependencies,
  caller: Pick<Caller, 'tokenId' | 'workspaceId'>,
  orderId: string,
  given: NonNullable<GivenForLaunch['notice']>,
): Promise<void> {
  const scoped = workspaceDb(db, caller.workspaceId);
  const order = await findOrder(scoped, orderId);
  if (order === undefined) throw new ApiError('not_found', { message: NO_ORDER });
  if (order.notice_until === null) return requireAccepted(order, given.id);
  const acceptance = await acceptNotice({ clock, db }, caller, order.name, given);
  const now = clock.now();
  const accepted = await scoped
    .updateTable('orders')
    .set({
      claims_acceptance: json(acceptance),
      notice_until: null,
      notice_lookup_key: null,
      next_look_at: now,
      updated_at: now,
    })
    .where('id', '=', orderId)
    .where('notice_until', '>', now)
    .where('state', 'in', ['paying', 'submitted'])
    .executeTakeFirst();
  if (accepted.numUpdatedRows === 0n) requireAccepted((await findOrder(scoped, orderId)) ?? order, given.id);
}

export const NO_ORDER = 'The workspace has no such order. GET /orders lists what it has.';

/** Throws where it was not this notice that let the order go on. */
function requireAccepted({ claims_acceptance: acceptance, id }: OrderRow, noticeId: string): void {
  if (acceptance?.noticeId === noticeId) return;
  throw new ApiError('not_found', {
    message: `The order ${id} waits for no notice. GET /orders/${id} says what has become of it.`,
    details: { reason: 'no_notice_wanted' },
  });
}
