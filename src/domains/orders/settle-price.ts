/**
 * The price of an order whose registry was too busy to say it when the order was placed: it is asked before a card is charged and before
 * anything is sent. An order of another price than its caller has agreed to fails with `price_changed`.
 */

import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import { toEuros } from '../prices/money.ts';
import { type Quote, quote } from '../prices/quote.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import { failureCodeOf, type OrderFailure, type OrderRow } from './order.ts';

export type PriceOutcome =
  | { readonly kind: 'agreed'; readonly order: OrderRow }
  | { readonly kind: 'failed'; readonly failure: OrderFailure }
  /** The registry still does not say, or another worker has the order. */
  | { readonly kind: 'waits'; readonly error: RegistryUnavailable | undefined };

export async function settlePrice(deps: OrderDependencies, order: OrderRow): Promise<PriceOutcome> {
  try {
    const quoted = await quoteOrder(deps, order);
    if (quoted.priceCents !== order.amount_cents) return { kind: 'failed', failure: priceChanged(order, quoted) };
    // Nobody's card is charged for a name that is known to be taken.
    if (order.kind === 'registration' && order.pays_with === 'card') await requireAvailable(deps, order);
    const agreed = await savePrice(deps, order, quoted);
    return agreed === undefined ? { kind: 'waits', error: undefined } : { kind: 'agreed', order: agreed };
  } catch (error) {
    const cause = error instanceof ApiError ? error.cause : error;
    if (cause instanceof RegistryUnavailable) return { kind: 'waits', error: cause };
    if (!(error instanceof ApiError)) throw error;
    return { kind: 'failed', failure: { code: failureCodeOf(order.kind), message: error.message } };
  }
}

/** At the prices of when it was placed: what has changed here since is not its caller's doing. */
async function quoteOrder(deps: OrderDependencies, { created_at, kind, name, years }: OrderRow): Promise<Quote> {
  if (kind === 'restoration') throw new Error('a restoration is placed at a price that was asked');
  const { tld } = normalizeName(name, 'name');
  return quote({ ...deps, clock: { now: () => created_at } }, { name, tld, operation: kind, years });
}

function priceChanged({ amount_cents: agreedCents }: OrderRow, { priceCents }: Quote): OrderFailure {
  const current = toEuros(priceCents);
  return {
    code: 'price_changed',
    message: `The price is ${current} EUR and \`confirm_price\` said ${toEuros(agreedCents)}. Nothing was charged. Repeat the call with ${current} if that is acceptable.`,
    details: { current_price: current, currency: 'EUR' },
  };
}

async function requireAvailable({ registry }: OrderDependencies, { kind, name }: OrderRow): Promise<void> {
  const [found] = await registry.check([name]);
  if (found?.availability === 'available') return;
  if (found === undefined || found.availability === 'unknown') {
    throw new RegistryUnavailable(`the registry does not say whether ${name} is taken`);
  }
  throw new ApiError(failureCodeOf(kind), { message: `${name} is ${found.availability}. Nothing was charged.` });
}

async function savePrice(
  { db }: OrderDependencies,
  { domain_id, id, workspace_id }: OrderRow,
  { fee, renewalFee }: Quote,
): Promise<OrderRow | undefined> {
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, workspace_id);
    const agreed = await scoped
      .updateTable('orders')
      .set({ price_unasked: false, ...(fee === undefined ? {} : { registry_fee: json(fee) }) })
      .where('id', '=', id)
      .where('price_unasked', '=', true)
      .where('state', 'in', ['paying', 'submitted'])
      .returningAll()
      .executeTakeFirst();
    if (agreed !== undefined && renewalFee !== undefined) {
      await scoped
        .updateTable('domains')
        .set({ renewal_fee: json(renewalFee) })
        .where('id', '=', domain_id)
        .execute();
    }
    return agreed;
  });
}
