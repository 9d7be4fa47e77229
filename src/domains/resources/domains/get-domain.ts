import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { READ_MS } from '../../deadline.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { type DomainRow, ownDomain, syncDomain } from '../../portfolio/index.ts';
import { toEuros } from '../../prices/money.ts';
import { type RegistryDomain, RegistryUnavailable } from '../../registry/registry.ts';
import { findRenewalOrder, renewalOf } from '../../renewals/index.ts';
import { offerRestoration } from '../../restorations/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import { renderDetails } from './render-domain.ts';
import type { DomainDetails, Restoration } from './schema.ts';

/**
 * What the registry reports now. While it does not answer within a moment, what it reported last, at `syncedAt`. Throws
 * `pending_at_registry` for a name that it has never reported.
 */
export function getDomain(deps: DomainDependencies) {
  return async ({ db, caller, params }: WorkspaceRead<{ params: { name: string } }>) => {
    const scoped = workspaceDb(db, caller.workspaceId);
    const row = await freshRow(deps, await ownDomain(scoped, params.name));
    if (row === undefined) throw new ApiError('not_found');
    if (row.snapshot === null) throw notReported(row);
    const now = deps.clock.now();
    const details: DomainDetails = {
      ...renderDetails(row, row.snapshot, deps.nameservers, now),
      renewal: renewalOf(deps.prices, row, await findRenewalOrder(scoped, row.id), now),
      restoration: await showRestoration(deps, row, row.snapshot),
    };
    return new HttpReply(200, details, { 'cache-control': 'private, no-store' });
  };
}

async function showRestoration(
  deps: DomainDependencies,
  row: DomainRow,
  info: RegistryDomain,
): Promise<Restoration | null> {
  const offer = await offerRestoration(deps, row, info);
  if (offer === undefined) return null;
  return {
    price: toEuros(offer.priceCents),
    currency: 'EUR',
    duration: offer.years,
    until: offer.until.toISOString(),
  };
}

async function freshRow({ db, registry, clock }: DomainDependencies, row: DomainRow): Promise<DomainRow | undefined> {
  try {
    return await syncDomain({ db, registry, now: clock.now() }, row, { timeoutMs: READ_MS });
  } catch (error) {
    if (error instanceof RegistryUnavailable) return row;
    throw error;
  }
}

function notReported({ name, added_via: addedVia }: DomainRow): ApiError {
  const wait = addedVia === 'transfer' ? 'up to days' : 'minutes';
  return new ApiError('pending_at_registry', {
    message: `The registry does not report ${name} yet, which can take ${wait} after a ${addedVia}. Look again later.`,
    details: { addedVia },
  });
}
