import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { answerOnce } from '../../answer-once.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { findLiveOrder } from '../../orders/index.ts';
import {
  confirmMissing,
  type DomainRow,
  lockDomain,
  ownDomain,
  recordInfo,
  retireDomain,
} from '../../portfolio/index.ts';
import { type RegistryDomain, RegistryUnavailable, type RejectionCode } from '../../registry/registry.ts';
import { type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { Deletion } from './schema.ts';

type Request = WorkspaceTurn<{ params: { name: string }; query: { when?: 'now' | 'at_expiry' } }>;

/** Throws `not_found`, `renewal_in_progress`, `pending_at_registry`, `delete_failed`. No money comes back. */
export function deleteDomain(deps: DomainDependencies) {
  return (request: Request): Promise<HttpReply<Deletion>> =>
    answerOnce(deps, request, async () => {
      const { caller, params, query } = request;
      const row = await ownDomain(workspaceDb(deps.db, caller.workspaceId), params.name);
      const when = query.when ?? (deletesAtOnce(deps, row.name) ? 'now' : 'at_expiry');
      return when === 'now' ? deleteNow(deps, row) : scheduleRelease(deps, row);
    });
}

/** What is not sold any more is deleted as most registries do. */
function deletesAtOnce({ clock, prices }: DomainDependencies, name: string): boolean {
  return prices.find(normalizeName(name, 'name').tld, clock.now())?.deletes !== 'at_expiry';
}

async function scheduleRelease(deps: DomainDependencies, row: DomainRow): Promise<Deletion> {
  const releaseAt = await deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(db, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    await requireNoOrder(db, held);
    await db
      .updateTable('domains')
      .set({ auto_renew: false, release_at: held.expires_at, renewal_state: 'off' })
      .where('id', '=', row.id)
      .execute();
    return held.expires_at;
  });
  return { domain: row.name, status: 'ReleaseScheduled', release_at: releaseAt?.toISOString() ?? null };
}

/** A name that is deleted already, by a call whose answer was lost, counts as deleted by this one. */
async function deleteNow(deps: DomainDependencies, row: DomainRow): Promise<Deletion> {
  const { registry } = deps;
  const wasSentBefore = await noteSending(deps, row);
  const outcome = await registry.delete({ name: row.name, transactionId: mintId('del') });
  if (outcome.kind === 'unknown') throw notKnown();
  const info = await readRemaining(deps, row.name);
  // The refusal may be the effect of an earlier call's deletion.
  if (outcome.kind === 'rejected') {
    if (info === 'unknown') throw notKnown();
    if (!isLeaving(info, outcome.code, wasSentBefore)) {
      await setSent(workspaceDb(deps.db, row.workspace_id), row.id, null);
      throw new ApiError('delete_failed', {
        message: `The registry refused to delete ${row.name}: ${outcome.reason}`,
        details: { reason: outcome.code },
      });
    }
  }
  return recordDeletion(deps, row, info, await isGoneNow(deps, row.name, info));
}

/**
 * Committed before the command leaves: where its answer is lost, or this process ends, the name's absence is still known to be our doing.
 * Whether a deletion was sent before, whose outcome nobody knows.
 */
async function noteSending({ db, clock }: DomainDependencies, row: DomainRow): Promise<boolean> {
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    await requireNoOrder(scoped, held);
    await setSent(scoped, row.id, clock.now());
    return held.deletion_sent_at !== null;
  });
}

async function setSent(db: WorkspaceDb, id: string, sentAt: Date | null): Promise<void> {
  await db.updateTable('domains').set({ deletion_sent_at: sentAt }).where('id', '=', id).execute();
}

/** Another's by now, as by a backorder; or not there, where a second command says so too: what is in redemption is there. */
async function isGoneNow({ registry }: DomainDependencies, name: string, info: Remaining): Promise<boolean> {
  if (info === 'unknown' || info?.isOurs === true) return false;
  try {
    return await confirmMissing(registry, name, info);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return false;
    throw error;
  }
}

function notKnown(): ApiError {
  return new ApiError('internal', {
    message: 'The registry did not answer, so it is not known whether the domain is deleted. Repeat the call.',
  });
}

/** What the registry shows after the deletion; `unknown` where it does not answer: the deletion stands all the same. */
async function readRemaining({ registry }: DomainDependencies, name: string): Promise<Remaining> {
  try {
    return await registry.info(name);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return 'unknown';
    throw error;
  }
}

type Remaining = RegistryDomain | undefined | 'unknown';

/** That there is no such name is believed where a deletion of ours may be its cause: else it is missing, and waits for its day. */
function isLeaving(info: RegistryDomain | undefined, refusal: RejectionCode, wasSentBefore: boolean): boolean {
  if (info === undefined) return refusal === 'object_does_not_exist' && wasSentBefore;
  return info.isOurs && (info.statuses.includes('redemptionPeriod') || info.statuses.includes('pendingDelete'));
}

/** A name that is deleted is not renewed, also while it can still be restored. */
async function recordDeletion(
  { db, clock, registry }: DomainDependencies,
  row: DomainRow,
  info: Remaining,
  isGone: boolean,
): Promise<Deletion> {
  const now = clock.now();
  const releaseAt = row.release_at !== null && row.release_at < now ? row.release_at : now;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  await db.transaction(async (tx) => {
    if (isGone) return retireDomain(tx, place, now);
    const isShown = info !== 'unknown' && info?.isOurs === true;
    if (isShown) await recordInfo(tx, place, info, { registry, now });
    await workspaceDb(tx, row.workspace_id)
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
  });
  return { domain: row.name, status: isGone ? 'Deleted' : 'Pending', release_at: releaseAt.toISOString() };
}

/** What is being bought can be deleted once it is. */
async function requireNoOrder(db: WorkspaceDb, row: DomainRow): Promise<void> {
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
