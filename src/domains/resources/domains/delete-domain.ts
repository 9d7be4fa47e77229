import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { findLiveOrder } from '../../orders/index.ts';
import { type DomainRow, lockDomain, ownDomain, syncDomain } from '../../portfolio/index.ts';
import { getTldTerms } from '../../prices/price.ts';
import { RegistryUnavailable } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { Deletion } from './schema.ts';
import type { DomainServices } from './services.ts';

type Request = WorkspaceTurn<{ params: { name: string }; query: { when?: 'now' | 'at_expiry' } }>;

/** Throws `not_found`, `renewal_in_progress`, `pending_at_registry`, `delete_failed`. No money comes back. */
export function deleteDomain(services: DomainServices) {
  return async (request: Request): Promise<HttpReply<Deletion>> => {
    const { caller, idempotency, params, query } = request;
    const { answers, db } = services;
    if (idempotency !== undefined) {
      const kept = await answers.find(db, caller.workspaceId, idempotency);
      if (kept !== undefined) {
        return new HttpReply(kept.status, JSON.parse(kept.body) as Deletion, { 'idempotent-replay': 'true' });
      }
    }
    const row = await ownDomain(workspaceDb(db, caller.workspaceId), params.name);
    const when = query.when ?? (deletesAtOnce(row.name) ? 'now' : 'at_expiry');
    const deletion = when === 'now' ? await deleteNow(services, row) : await scheduleRelease(services, row);
    if (idempotency !== undefined) {
      await answers.keep(db, caller.workspaceId, idempotency, { status: 200, body: JSON.stringify(deletion) });
    }
    return new HttpReply(200, deletion);
  };
}

function deletesAtOnce(name: string): boolean {
  return getTldTerms(normalizeName(name, 'name').tld).deletes === 'at_once';
}

async function scheduleRelease(services: DomainServices, row: DomainRow): Promise<Deletion> {
  const releaseAt = await services.db.transaction(async (tx) => {
    const db = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(db, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    await requireNoOrder(services, held);
    await db
      .updateTable('domains')
      .set({ auto_renew: false, release_at: held.expires_at, renewal_state: 'off' })
      .where('id', '=', row.id)
      .execute();
    return held.expires_at;
  });
  return { domain: row.name, status: 'ReleaseScheduled', release_at: releaseAt?.toISOString() ?? null };
}

async function deleteNow(services: DomainServices, row: DomainRow): Promise<Deletion> {
  await requireNoOrder(services, row);
  const { registry, db, clock } = services;
  const outcome = await registry.delete({ name: row.name, transactionId: mintId('del') });
  switch (outcome.kind) {
    case 'rejected':
      throw new ApiError('delete_failed', {
        message: `The registry refused to delete ${row.name}: ${outcome.reason}`,
        details: { reason: outcome.code },
      });
    case 'unknown':
      throw new ApiError('internal', {
        message: 'The registry did not answer, so it is not known whether the domain is deleted. Repeat the call.',
      });
    case 'completed':
    case 'pending':
      break;
    default:
      return outcome satisfies never;
  }
  // A name that is deleted is not renewed, also while it can still be restored.
  await workspaceDb(db, row.workspace_id)
    .updateTable('domains')
    .set({ auto_renew: false, release_at: clock.now(), renewal_state: 'off' })
    .where('id', '=', row.id)
    .execute();
  const isGone = await hasLeft(services, row);
  return { domain: row.name, status: isGone ? 'Deleted' : 'Pending', release_at: clock.now().toISOString() };
}

/** The deletion stands, also where the registry cannot be asked what has become of the name. */
async function hasLeft({ registry, db, clock }: DomainServices, row: DomainRow): Promise<boolean> {
  try {
    return (await syncDomain({ db, registry, now: clock.now() }, row)) === undefined;
  } catch (error) {
    if (error instanceof RegistryUnavailable) return false;
    throw error;
  }
}

/** What is being bought can be deleted once it is. */
async function requireNoOrder({ db }: DomainServices, row: DomainRow): Promise<void> {
  const order = await findLiveOrder(workspaceDb(db, row.workspace_id), row.id);
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
