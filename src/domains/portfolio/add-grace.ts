/**
 * The days after its registration in which a registry takes a name back for nothing (RFC 3915 3.1, addPeriod): deleted then it is gone
 * at once, and the registry bills neither the registration nor what was renewed since. So its owner has that back too, less a fee.
 */
import type { Transaction } from '../../kernel/db/database.ts';
import { refundName } from '../wallet/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { DomainRow } from './store.ts';

interface Place {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
}

/** Of a name that has just gone: the cents that its owner has back. Into the wallet, whatever paid for it. */
export async function refundEarly(tx: Transaction, place: Place, row: DomainRow): Promise<number> {
  if (!isEarly(row)) return 0;
  const orders = await workspaceDb(tx, place.workspaceId)
    .selectFrom('orders')
    .select(['amount_cents', 'application_cents'])
    .where('domain_id', '=', place.domainId)
    .where('state', '=', 'completed')
    .where('kind', '<>', 'trade')
    .execute();
  // No registry gives an application back, nor a trade.
  const paidCents = orders.reduce(
    (sum, order) => sum + Number(order.amount_cents) - Number(order.application_cents),
    0,
  );
  const amountCents = paidCents - Number(row.add_grace_fee_cents ?? 0);
  if (amountCents <= 0) return 0;
  return (await refundName(tx, { ...place, amountCents })) ? amountCents : 0;
}

/** By a deletion of ours, and not by way of the redemption period, which no registry gives anything back for. */
function isEarly(row: DomainRow): boolean {
  const { add_grace_until: until, redemption_since: redemptionSince } = row;
  const deletedAt = row.deletion_wanted_at ?? row.deletion_sent_at;
  return until !== null && redemptionSince === null && deletedAt !== null && deletedAt <= until;
}
