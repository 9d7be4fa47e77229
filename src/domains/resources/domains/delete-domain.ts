import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { answerOnce } from '../../answer-once.ts';
import { LATE } from '../../background-work.ts';
import { CHANGE_MS } from '../../deadline.ts';
import {
  noteDeletion,
  type ResendDependencies,
  requireNoOrder,
  sendDeletion,
  tellIfRefused,
} from '../../deletions/index.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { type DomainRow, lockDomain, ownDomain } from '../../portfolio/index.ts';
import { toEuros } from '../../prices/money.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { Deletion } from './schema.ts';

type Request = WorkspaceTurn<{ params: { name: string }; query: { when?: 'now' | 'at_expiry' } }>;
type DeleteDependencies = DomainDependencies & ResendDependencies;

/** Throws `not_found`, `renewal_in_progress`, `pending_at_registry`, `delete_failed`. Money comes back where the registry takes the name back. */
export function deleteDomain(deps: DeleteDependencies) {
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

/** A registry that does not answer in time is sent the deletion again until it does. */
async function deleteNow(deps: DeleteDependencies, row: DomainRow): Promise<Deletion> {
  const wasSentBefore = await noteDeletion(deps, row);
  let isAnswered = false;
  const sending = sendDeletion(deps, row, { wasSentBefore }).then(async (end) => {
    if (isAnswered) await tellIfRefused(deps, row, end);
    return end;
  });
  const end = await deps.background.within(sending, CHANGE_MS);
  isAnswered = true;
  if (end === LATE || end.kind === 'unknown') {
    return { domain: row.name, status: 'Pending', release_at: deps.clock.now().toISOString() };
  }
  if (end.kind === 'refused') {
    throw new ApiError('delete_failed', {
      message: `${row.name} was not deleted. ${end.explanation}`,
      details: { reason: end.code },
    });
  }
  const status = end.kind === 'deleted' ? 'Deleted' : 'Pending';
  const refunded = end.refundedCents > 0 ? { refunded: toEuros(end.refundedCents) } : {};
  return { domain: row.name, status, release_at: end.releaseAt.toISOString(), ...refunded };
}
