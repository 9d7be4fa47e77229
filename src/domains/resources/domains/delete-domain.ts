import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { answerOnce } from '../../answer-once.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { findLiveOrder } from '../../orders/index.ts';
import { type DomainRow, lockDomain, ownDomain, recordInfo, retireDomain } from '../../portfolio/index.ts';
import { getTldTerms } from '../../prices/price.ts';
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
      const when = query.when ?? (deletesAtOnce(row.name) ? 'now' : 'at_expiry');
      return when === 'now' ? deleteNow(deps, row) : scheduleRelease(deps, row);
    });
}

function deletesAtOnce(name: string): boolean {
  return getTldTerms(normalizeName(name, 'name').tld).deletes === 'at_once';
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
  const { registry, db } = deps;
  await requireNoOrder(workspaceDb(db, row.workspace_id), row);
  const outcome = await registry.delete({ name: row.name, transactionId: mintId('del') });
  if (outcome.kind === 'unknown') throw notKnown();
  const info = await readRemaining(deps, row.name);
  // The refusal may be the effect of an earlier call's deletion.
  if (outcome.kind === 'rejected') {
    if (info === 'unknown') throw notKnown();
    if (!isLeaving(info, outcome.code)) {
      throw new ApiError('delete_failed', {
        message: `The registry refused to delete ${row.name}: ${outcome.reason}`,
        details: { reason: outcome.code },
      });
    }
  }
  return recordDeletion(deps, row, info);
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

function isLeaving(info: RegistryDomain | undefined, refusal: RejectionCode): boolean {
  if (info === undefined) return refusal === 'object_does_not_exist';
  return !info.isOurs || info.statuses.includes('redemptionPeriod') || info.statuses.includes('pendingDelete');
}

/** A name that is deleted is not renewed, also while it can still be restored. */
async function recordDeletion({ db, clock }: DomainDependencies, row: DomainRow, info: Remaining): Promise<Deletion> {
  const now = clock.now();
  const releaseAt = row.release_at !== null && row.release_at < now ? row.release_at : now;
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  const isGone = info !== 'unknown' && info?.isOurs !== true;
  await db.transaction(async (tx) => {
    if (isGone) return retireDomain(tx, place, now);
    if (info !== 'unknown' && info !== undefined) await recordInfo(tx, place, info, now);
    await workspaceDb(tx, row.workspace_id)
      .updateTable('domains')
      .set({
        auto_renew: false,
        release_at: releaseAt,
        renewal_state: 'off',
        // Refreshed with the next sweep of the order worker.
        ...(info === 'unknown' ? { synced_at: null } : {}),
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
