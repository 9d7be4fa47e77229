/**
 * What it costs to bring a name back out of its redemption period (RFC 3915), and until when it can be. A registry renews a name
 * whose term is over along with that, and bills both; so does the price.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import type { DomainRow } from '../portfolio/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import {
  expiryNotShown,
  type Registry,
  type RegistryDomain,
  type RegistryFee,
  RegistryUnavailable,
} from '../registry/registry.ts';
import { addDays, addYears } from '../registry/term.ts';

interface Dependencies {
  readonly clock: Clock;
  readonly prices: PriceBook;
  readonly registry: Pick<Registry, 'feeOf'>;
}

export interface RestorationQuote {
  readonly priceCents: number;
  /** That the registry adds; 0: its term goes on. */
  readonly years: number;
  /** What the registry asks, and is told that we agree to; absent: it does not say. */
  readonly fee?: RegistryFee | undefined;
}

/**
 * At our prices of now, or of `pricesAt`. Throws `restore_failed` where nobody has said what it costs, and `internal` where the registry does
 * not answer.
 */
export async function quoteRestoration(
  deps: Dependencies,
  info: RegistryDomain,
  { pricesAt = deps.clock.now() }: { readonly pricesAt?: Date } = {},
): Promise<RestorationQuote> {
  const { clock, prices, registry } = deps;
  const { tld } = normalizeName(info.name, 'name');
  const terms = prices.find(tld, pricesAt);
  const years = missingYears(info, clock.now());
  if (years === undefined) {
    const message = `The registry does not show now when the term of ${info.name} ends. Nothing was charged; repeat the call.`;
    throw new ApiError('internal', { message, cause: expiryNotShown(info.name) });
  }
  const ask = async (command: 'restore' | 'renew', asked: number) => {
    try {
      return await registry.feeOf({ name: info.name, command, years: asked });
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      const message = 'The registry does not say what this costs now. Nothing was charged; repeat the call.';
      throw new ApiError('internal', { message, cause: error });
    }
  };
  const retail = (
    command: 'restore' | 'renew',
    fee: RegistryFee | undefined,
    cents: number | undefined,
    of: number,
  ) => {
    if (fee === undefined || !prices.isPremium(tld, { command, fee, years: of }, pricesAt)) return cents;
    return prices.premiumCents(tld, { command, fee }, pricesAt);
  };
  const restoreFee = await ask('restore', 1);
  const renewFee = years === 0 ? undefined : await ask('renew', years);
  const restoreCents = retail('restore', restoreFee, terms?.restoreCents, 1);
  const renewCents = years === 0 ? 0 : retail('renew', renewFee, terms && terms.renewCents * years, years);
  if (restoreCents === undefined || renewCents === undefined) {
    throw new ApiError('restore_failed', {
      message: `Names like ${info.name} are not restored here. Nothing was charged.`,
      details: { reason: 'not_sold' },
    });
  }
  return { priceCents: restoreCents + renewCents, years, fee: sumOf(restoreFee, renewFee, years) };
}

/**
 * Undefined: it is not in its redemption period, or cannot be restored here. While the registry does not say the price, or is not asked, it is
 * that of ordinary names: an order of a name that costs more fails with `price_changed`.
 */
export async function offerRestoration(
  deps: Dependencies,
  { redemption_since: since }: Pick<DomainRow, 'redemption_since'>,
  info: RegistryDomain,
  { isAsked }: { readonly isAsked: boolean },
): Promise<(RestorationQuote & { readonly until: Date }) | undefined> {
  if (since === null || info.expiresAt === undefined || !info.statuses.includes('redemptionPeriod')) return undefined;
  const days = deps.prices.find(normalizeName(info.name, 'name').tld, deps.clock.now())?.redemptionDays ?? 0;
  try {
    const quoted = await quoteRestoration(isAsked ? deps : { ...deps, registry: SAYS_NOTHING }, info);
    return { ...quoted, until: addDays(since, days) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const isUnsaid = error.cause instanceof RegistryUnavailable;
    return isUnsaid ? offerRestoration(deps, { redemption_since: since }, info, { isAsked: false }) : undefined;
  }
}

const SAYS_NOTHING: Dependencies['registry'] = { feeOf: async () => undefined };

/** What can be restored. Throws `restore_failed` for what cannot. */
export function requireRestorable(name: string, info: RegistryDomain | undefined): RegistryDomain {
  const statuses = info?.isOurs === true ? info.statuses : [];
  if (info !== undefined && (statuses.includes('redemptionPeriod') || statuses.includes('pendingRestore'))) return info;
  throw new ApiError('restore_failed', {
    message: statuses.includes('pendingDelete')
      ? `The redemption period of ${name} is over: it is about to be free for anyone. Nothing was charged.`
      : `${name} is not deleted, so there is nothing to restore. Nothing was charged.`,
    details: { statuses },
  });
}

/** As many as it takes for its term to end in the future; undefined: the registry does not show when it ends. */
export function missingYears({ expiresAt }: RegistryDomain, now: Date): number | undefined {
  if (expiresAt === undefined) return undefined;
  let years = 0;
  while (addYears(new Date(expiresAt), years) <= now) years += 1;
  return years;
}

function sumOf(
  restore: RegistryFee | undefined,
  renew: RegistryFee | undefined,
  years: number,
): RegistryFee | undefined {
  if (years === 0 || restore === undefined) return restore;
  if (renew === undefined || renew.currency !== restore.currency) return undefined;
  return { ...restore, cents: restore.cents + renew.cents };
}
