/**
 * Where a registry takes another holder by a trade alone, a change of the workspace's registrant leaves its names with the holder that they have, until
 * a trade is bought: an order, for the registrant as that is then.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import type { DomainRow } from '../portfolio/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { type Quote, quoteTrade } from '../prices/quote.ts';
import { getRegistrant, missingContact, registrantAtRegistry } from '../registrant.ts';
import type { Registrant, Registry, RegistryHolder } from '../registry/registry.ts';
import { isHolder } from '../registry/same-holder.ts';
import type { WorkspaceDb } from '../workspace-scope.ts';

interface Dependencies {
  readonly clock: Clock;
  readonly prices: Pick<PriceBook, 'get'>;
  readonly registry: Pick<Registry, 'habitsOf'>;
}

export interface TradeOffer extends Pick<Quote, 'priceCents'> {
  /** As the registry showed it last; undefined: it did not. */
  readonly present: RegistryHolder | undefined;
  readonly next: Registrant;
  /** For how long the TLD locks transfers after a change of the registrant. */
  readonly lockDays: number;
}

/** Undefined: the name has the workspace's registrant as its holder, or gets it by an update. */
export async function offerTrade(
  { clock, prices, registry }: Dependencies,
  db: WorkspaceDb,
  { name, snapshot }: Pick<DomainRow, 'name' | 'snapshot'>,
): Promise<TradeOffer | undefined> {
  if (registry.habitsOf(name).trades !== true) return undefined;
  const next = registrantAtRegistry(await getRegistrant(db));
  const present = snapshot?.holder;
  if (present !== undefined && isHolder(present, next)) return undefined;
  const { tld } = normalizeName(name, 'name');
  const now = clock.now();
  const { changeLockDays: lockDays = 0 } = prices.get(tld, now);
  return { ...quoteTrade(prices, tld, now), present, next, lockDays };
}

/** As `offerTrade`; throws `trade_failed` where there is nothing to trade, or the registry wants more of the contact. */
export async function requireTradable(deps: Dependencies, db: WorkspaceDb, row: DomainRow): Promise<TradeOffer> {
  const habits = deps.registry.habitsOf(row.name);
  if (habits.trades !== true) {
    throw new ApiError('trade_failed', {
      message: `The registry of ${row.name} has no trades: PATCH /registrant is enough there. Nothing was charged.`,
      details: { reason: 'not_needed' },
    });
  }
  const offer = await offerTrade(deps, db, row);
  if (offer === undefined) {
    throw new ApiError('trade_failed', {
      message: `${row.name} has the registrant of GET /registrant as its holder already. Change that first with PATCH /registrant. Nothing was charged.`,
      details: { reason: 'same_holder' },
    });
  }
  const missing = missingContact([habits], (await getRegistrant(db)).contact);
  if (missing.length === 0) return offer;
  throw new ApiError('trade_failed', {
    message: `The registry wants more of the registrant: send ${missing.map((member) => `\`contact.${member}\``).join(' and ')} to PATCH /registrant. Nothing was charged.`,
    details: { missing },
  });
}
