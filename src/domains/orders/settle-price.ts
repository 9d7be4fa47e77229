/**
 * The price of an order whose registry did not say it when the order was placed, as it was too busy or away, and what the launch of its TLD
 * demands: both are asked before a card is charged and before anything is sent. An order of another price than its caller has agreed to fails
 * with `price_changed`.
 */
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import { toEuros } from '../prices/money.ts';
import { type Quote, quote, quoteTrade } from '../prices/quote.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import { quoteRestoration, requireRestorable } from '../restorations/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { requirePhase } from './applications.ts';
import type { OrderDependencies } from './dependencies.ts';
import { failureCodeOf, type OrderFailure, type OrderRow } from './order.ts';
import { requireAvailable } from './require-available.ts';
import {
  askForNotice,
  type LaunchTermsOfOrder,
  noticeNotAccepted,
  settleLaunch,
  waitForNotice,
} from './settle-launch.ts';

export type PriceOutcome =
  | { readonly kind: 'agreed'; readonly order: OrderRow }
  | { readonly kind: 'failed'; readonly failure: OrderFailure }
  /** The registry still does not say. */
  | { readonly kind: 'unsaid'; readonly error: RegistryUnavailable }
  /** Its customer has to accept a notice first, or another worker has the order. */
  | { readonly kind: 'waits' };

/** What is held for an order of which nothing was sent goes back after so long. */
const UNSAID_LIMIT_MS = 7 * 86_400_000;

export async function settlePrice(deps: OrderDependencies, order: OrderRow): Promise<PriceOutcome> {
  const now = deps.clock.now();
  if (order.notice_until !== null && order.notice_until > now) {
    await waitForNotice(deps, order);
    return { kind: 'waits' };
  }
  if (order.notice_until !== null) return { kind: 'failed', failure: noticeNotAccepted(order) };
  try {
    return await askTerms(deps, order);
  } catch (error) {
    const cause = error instanceof ApiError ? error.cause : error;
    if (cause instanceof RegistryUnavailable) {
      const isOverdue = now.getTime() - order.created_at.getTime() >= UNSAID_LIMIT_MS;
      return isOverdue ? { kind: 'failed', failure: neverSaid(order, cause) } : { kind: 'unsaid', error: cause };
    }
    if (!(error instanceof ApiError)) throw error;
    return { kind: 'failed', failure: { code: failureCodeOf(order.kind), message: error.message } };
  }
}

/** Throws what asking throws, and an `ApiError` for what cannot be bought. */
async function askTerms(deps: OrderDependencies, order: OrderRow): Promise<PriceOutcome> {
  const quoted = await quoteOrder(deps, order);
  if (quoted.priceCents !== order.amount_cents) return { kind: 'failed', failure: priceChanged(order, quoted) };
  const launch = order.kind === 'registration' ? await settleLaunch(deps, order) : undefined;
  if (launch?.kind === 'met') requirePhase(order, quoted.application, launch.terms.launch_phase ?? undefined);
  // Nobody's card is charged, and nobody is asked to accept anything, for a name that is known to be taken.
  if (order.kind === 'registration' && (order.pays_with === 'card' || launch?.kind === 'notice_wanted')) {
    await requireAvailable(deps, order.name);
  }
  if (launch?.kind === 'notice_wanted') {
    await askForNotice(deps, order, launch.lookupKey);
    return { kind: 'waits' };
  }
  const agreed = await saveTerms(deps, order, quoted, launch?.terms);
  return agreed === undefined ? { kind: 'waits' } : { kind: 'agreed', order: agreed };
}

/** At the prices of when it was placed: what has changed here since is not its caller's doing. */
async function quoteOrder(
  deps: OrderDependencies,
  { created_at: pricesAt, kind, name, years }: OrderRow,
): Promise<Quote & { readonly years?: number }> {
  if (kind === 'restoration') {
    const info = requireRestorable(name, await deps.registry.info(name));
    return quoteRestoration(deps, info, { pricesAt });
  }
  const { tld } = normalizeName(name, 'name');
  if (kind === 'trade') return quoteTrade(deps.prices, tld, pricesAt);
  return quote({ ...deps, clock: { now: () => pricesAt } }, { name, tld, operation: kind, years });
}

function priceChanged({ amount_cents: agreedCents }: OrderRow, { priceCents }: Quote): OrderFailure {
  const current = toEuros(priceCents);
  return {
    code: 'price_changed',
    message: `The price is ${current} EUR and \`confirm_price\` said ${toEuros(agreedCents)}. Nothing was charged. Repeat the call with ${current} if that is acceptable.`,
    details: { current_price: current, currency: 'EUR' },
  };
}

function neverSaid({ kind, name }: OrderRow, { message: reason }: RegistryUnavailable): OrderFailure {
  return {
    code: failureCodeOf(kind),
    message: `The registry has not said in seven days what ${name} costs. Nothing was charged; repeat the call when it answers again.`,
    registrySaid: reason,
  };
}

/** Undefined: another worker has done so, or the order has ended. */
async function saveTerms(
  { db }: OrderDependencies,
  { domain_id, id, workspace_id }: OrderRow,
  { application, fee, renewalFee, years }: Quote & { readonly years?: number },
  launch: LaunchTermsOfOrder | undefined,
): Promise<OrderRow | undefined> {
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, workspace_id);
    const agreed = await scoped
      .updateTable('orders')
      .set({
        price_unasked: false,
        ...(fee === undefined ? {} : { registry_fee: json(fee) }),
        ...(years === undefined ? {} : { years }),
        ...(launch === undefined
          ? {}
          : {
              claims_acceptance: launch.claims_acceptance === null ? null : json(launch.claims_acceptance),
              is_application: launch.launch_phase !== null,
              launch_phase: launch.launch_phase === null ? null : json(launch.launch_phase),
              application_cents: application?.cents ?? 0,
              application_refunded: application?.isRefunded === true,
            }),
      })
      .where('id', '=', id)
      .where('price_unasked', '=', true)
      .where('notice_until', 'is', null)
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
