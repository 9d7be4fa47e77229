import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { READ_MS } from '../../deadline.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { findLiveOrder } from '../../orders/index.ts';
import { type DomainRow, ownDomain, syncDomain } from '../../portfolio/index.ts';
import { toEuros } from '../../prices/money.ts';
import { type RegistryDomain, type RegistryHolder, RegistryUnavailable } from '../../registry/registry.ts';
import { findRenewalOrder, renewalOf } from '../../renewals/index.ts';
import { offerRestoration } from '../../restorations/index.ts';
import { offerTrade } from '../../trades/index.ts';
import { type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import { renderDetails } from './render-domain.ts';
import type { DomainDetails, Restoration, Trade } from './schema.ts';

/**
 * What the registry reports now. While it does not answer within a moment, what it reported last, at `syncedAt`. Throws
 * `pending_at_registry` for a name that it has never reported.
 */
export function getDomain(deps: DomainDependencies) {
  return async ({ db, caller, params }: WorkspaceRead<{ params: { name: string } }>) => {
    const scoped = workspaceDb(db, caller.workspaceId);
    const { isFresh, row } = await freshRow(deps, await ownDomain(scoped, params.name));
    if (row === undefined) throw new ApiError('not_found');
    if (row.snapshot === null) throw await notReported(scoped, row);
    const now = deps.clock.now();
    const details: DomainDetails = {
      ...renderDetails(row, row.snapshot, deps.nameservers, now),
      renewal: renewalOf(deps.prices, row, await findRenewalOrder(scoped, row.id), now),
      restoration: await showRestoration(deps, row, row.snapshot, isFresh),
      trade: await showTrade(deps, scoped, row),
    };
    return new HttpReply(200, details, { 'cache-control': 'private, no-store' });
  };
}

async function showTrade(deps: DomainDependencies, db: WorkspaceDb, row: DomainRow): Promise<Trade | null> {
  const offer = await offerTrade(deps, db, row);
  if (offer === undefined) return null;
  const order = await findLiveOrder(db, row.id, 'trade');
  return {
    price: toEuros(offer.priceCents),
    currency: 'EUR',
    present: offer.present === undefined ? null : renderHolder(offer.present),
    next: renderHolder(offer.next),
    order_id: order?.id ?? null,
  };
}

function renderHolder({ name, organization = null }: Trade['next'] | RegistryHolder): Trade['next'] {
  return { name, organization };
}

async function showRestoration(
  deps: DomainDependencies,
  row: DomainRow,
  info: RegistryDomain,
  isFresh: boolean,
): Promise<Restoration | null> {
  // A registry that has not answered is not waited for again.
  const offer = await offerRestoration(deps, row, info, { isAsked: isFresh });
  if (offer === undefined) return null;
  return {
    price: toEuros(offer.priceCents),
    currency: 'EUR',
    duration: offer.years,
    until: offer.until.toISOString(),
  };
}

/** Without a row: it is not ours any more. */
async function freshRow(
  { db, registry, clock }: DomainDependencies,
  row: DomainRow,
): Promise<{ readonly row: DomainRow | undefined; readonly isFresh: boolean }> {
  try {
    const synced = await syncDomain({ db, registry, now: clock.now() }, row, { timeoutMs: READ_MS });
    return { row: synced, isFresh: true };
  } catch (error) {
    if (error instanceof RegistryUnavailable) return { row, isFresh: false };
    throw error;
  }
}

async function notReported(db: WorkspaceDb, { added_via: addedVia, id, name }: DomainRow): Promise<ApiError> {
  const order = await findLiveOrder(db, id);
  if (order !== undefined && order.notice_until !== null) {
    return new ApiError('pending_at_registry', {
      message: `${name} is not registered before the notice of a trademark claim is accepted: see GET /orders/${order.id}.`,
      details: { addedVia },
    });
  }
  const wait = addedVia === 'transfer' ? 'up to days' : 'minutes';
  return new ApiError('pending_at_registry', {
    message: `The registry does not report ${name} yet, which can take ${wait} after a ${addedVia}. Look again later.`,
    details: { addedVia },
  });
}
