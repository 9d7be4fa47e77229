/**
 * Deletions of names. What was asked for is noted before anything is sent, and sent again until the registry has taken or refused it:
 *
 *   asked for ─▶ sent ─┬─▶ taken: the name is gone, or in its redemption period
 *                 ▲    ├─▶ refused: the name stays; an owner who was answered before is told by mail
 *                 └────┘ no answer, or no credit of ours there: sent again, each time later
 */
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { noteCreditRefusal } from '../balances/index.ts';
import type { OrderDependencies } from '../orders/index.ts';
import { findLiveOrder } from '../orders/index.ts';
import { confirmMissing, type DomainRow, lockDomain, recordInfo, retireDomain } from '../portfolio/index.ts';
import { explainRefusal } from '../registry/explain-refusal.ts';
import { type RegistryDomain, RegistryUnavailable, type RejectionCode } from '../registry/registry.ts';
import { memberOf } from '../registry/routing-registry.ts';
import { type WorkspaceDb, workspaceDb } from '../workspace-scope.ts';

export type DeletionDependencies = Pick<OrderDependencies, 'db' | 'clock' | 'registry' | 'logger'>;

export type DeletionEnd =
  | {
      readonly kind: 'deleted' | 'pending';
      readonly releaseAt: Date;
      /** What its owner has back. */
      readonly refundedCents: number;
    }
  | { readonly kind: 'refused'; readonly code: RejectionCode; readonly explanation: string }
  /** No answer came, or we have no credit there, and it is sent again. */
  | { readonly kind: 'unknown' };

/** Nobody else sends it for so long: longer than any command to the registry takes. */
export const SENDING_MS = 60_000;

/**
 * Committed before the command leaves: where its answer is lost, or this process ends, the name's absence is still known to be our doing.
 * Whether a deletion was sent before, whose outcome nobody knows. Throws `not_found`, `renewal_in_progress` and `pending_at_registry`.
 */
export async function noteDeletion({ db, clock }: DeletionDependencies, row: DomainRow): Promise<boolean> {
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    await requireNoOrder(scoped, held);
    const now = clock.now();
    await save(scoped, row.id, {
      deletion_sent_at: now,
      deletion_wanted_at: held.deletion_wanted_at ?? now,
      deletion_look_at: new Date(now.getTime() + SENDING_MS),
    });
    return held.deletion_sent_at !== null || held.deletion_wanted_at !== null;
  });
}

/** Sends what was noted. A name that is deleted already, by a command whose answer was lost, counts as deleted by this one. */
export async function sendDeletion(
  deps: DeletionDependencies,
  row: DomainRow,
  { wasSentBefore }: { readonly wasSentBefore: boolean },
): Promise<DeletionEnd> {
  const { clock, db, registry } = deps;
  const outcome = await registry.delete({ name: row.name, transactionId: mintId('del') });
  const info = outcome.kind === 'unknown' ? 'unknown' : await readRemaining(deps, row.name);
  // A refusal may be the effect of an earlier deletion.
  const hasNoCredit = outcome.kind === 'rejected' && outcome.code === 'no_credit';
  if (hasNoCredit) await noteNoCredit(deps, row, outcome.reason);
  if (outcome.kind === 'unknown' || hasNoCredit || (outcome.kind === 'rejected' && info === 'unknown')) {
    const age = clock.now().getTime() - (row.deletion_wanted_at ?? clock.now()).getTime();
    const again = new Date(clock.now().getTime() + Math.min(Math.max(age, MIN_AGAIN_MS), MAX_AGAIN_MS));
    await save(workspaceDb(db, row.workspace_id), row.id, { deletion_look_at: again });
    return { kind: 'unknown' };
  }
  if (outcome.kind === 'rejected' && info !== 'unknown' && !isLeaving(info, outcome.code, wasSentBefore)) {
    const nothing = { deletion_sent_at: null, deletion_wanted_at: null, deletion_look_at: null };
    await save(workspaceDb(db, row.workspace_id), row.id, nothing);
    deps.logger.warn({ domain: row.name, reason: outcome.reason }, 'the registry refused a deletion');
    return { kind: 'refused', code: outcome.code, explanation: explainRefusal('deletion', row.name, outcome) };
  }
  return recordDeletion(deps, row, info, await isGoneNow(deps, row.name, info));
}

/** Nobody's fault but ours: it waits, and the operator is told. */
async function noteNoCredit(
  { clock, db, logger, registry }: DeletionDependencies,
  { name }: DomainRow,
  reason: string,
) {
  logger.error(
    { domain: name, reason },
    'the registry deletes nothing: our account there has no credit; pay the registry',
  );
  const member = memberOf(registry, name);
  if (member !== undefined) await noteCreditRefusal({ clock, db }, member.id);
}

/** Before it is sent again: as long as it has been waiting. */
const MIN_AGAIN_MS = 5_000;
const MAX_AGAIN_MS = 1_800_000;

/** Those of the row, of which only the ones that it has are changed. */
type Notes = Partial<Pick<DomainRow, 'deletion_sent_at' | 'deletion_wanted_at' | 'deletion_look_at'>>;

async function save(db: WorkspaceDb, id: string, notes: Notes): Promise<void> {
  await db.updateTable('domains').set(notes).where('id', '=', id).execute();
}

type Remaining = RegistryDomain | undefined | 'unknown';

/** What the registry shows after the deletion; `unknown` where it does not answer: a deletion that was taken stands all the same. */
async function readRemaining({ registry }: DeletionDependencies, name: string): Promise<Remaining> {
  try {
    return await registry.info(name);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return 'unknown';
    throw error;
  }
}

/** Another's by now, as by a backorder; or not there, where a second command says so too: what is in redemption is there. */
async function isGoneNow({ registry }: DeletionDependencies, name: string, info: Remaining): Promise<boolean> {
  if (info === 'unknown' || info?.isOurs === true) return false;
  try {
    return await confirmMissing(registry, name, info);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return false;
    throw error;
  }
}

/** That there is no such name is believed where a deletion of ours may be its cause: else it is missing, and waits for its day. */
function isLeaving(info: RegistryDomain | undefined, refusal: RejectionCode, wasSentBefore: boolean): boolean {
  if (info === undefined) return refusal === 'object_does_not_exist' && wasSentBefore;
  return info.isOurs && (info.statuses.includes('redemptionPeriod') || info.statuses.includes('pendingDelete'));
}

/** A name that is deleted is not renewed, also while it can still be restored. */
async function recordDeletion(
  { db, clock, registry }: DeletionDependencies,
  row: DomainRow,
  info: Remaining,
  isGone: boolean,
): Promise<DeletionEnd> {
  const now = clock.now();
  const releaseAt = row.release_at !== null && row.release_at < now ? row.release_at : now;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  const refundedCents = await db.transaction(async (tx) => {
    const backCents = isGone ? await retireDomain(tx, place, now) : 0;
    const isShown = !isGone && info !== 'unknown' && info?.isOurs === true;
    if (isShown) await recordInfo(tx, place, info, { registry, now });
    const db = workspaceDb(tx, row.workspace_id);
    await save(db, row.id, { deletion_wanted_at: null, deletion_look_at: null });
    if (isGone) return backCents;
    await db
      .updateTable('domains')
      .set({
        auto_renew: false,
        release_at: releaseAt,
        renewal_state: 'off',
        // Refreshed with the next sweep of the order worker.
        ...(isShown ? {} : { synced_at: null, missing_seen_at: null }),
      })
      .where('id', '=', row.id)
      .execute();
    return 0;
  });
  return { kind: isGone ? 'deleted' : 'pending', releaseAt, refundedCents };
}

/** What is being bought can be deleted once it is. */
export async function requireNoOrder(db: WorkspaceDb, row: DomainRow): Promise<void> {
  const order = await findLiveOrder(db, row.id);
  if (order === undefined) return;
  if (order.kind === 'renewal') {
    throw new ApiError('renewal_in_progress', {
      message: `A renewal of ${row.name} is under way. Delete it when that is done.`,
      details: { state: order.state },
    });
  }
  throw new ApiError('pending_at_registry', {
    message: `The ${order.kind} of ${row.name} is under way. Delete it when that is done.`,
    details: { addedVia: row.added_via },
  });
}
