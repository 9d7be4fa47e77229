/** What a spending call costs at this moment: the registry is asked where it sells names at prices of their own. */
import type { Clock } from '../../kernel/clock/clock.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { type FeeCommand, type Registry, type RegistryFee, RegistryUnavailable } from '../registry/registry.ts';
import { type ApplicationPrice, applicationOf, type PricedOperation, priceCents, requireYearsOf } from './price.ts';
import type { PriceBook } from './price-book.ts';

export interface QuoteDependencies {
  readonly prices: PriceBook;
  readonly registry: Pick<Registry, 'feeOf'>;
  readonly clock: Clock;
}

export interface QuoteRequest {
  /** ASCII. */
  readonly name: string;
  readonly tld: string;
  readonly operation: Exclude<PricedOperation, 'trade'>;
  readonly years: number;
}

/** A price of a name's own, for so many years. */
export type RenewalFee = RegistryFee & { readonly years: number };

export interface Quote {
  readonly priceCents: number;
  /** What the registry asks, and is told that we agree to; absent: it does not say. */
  readonly fee?: RegistryFee | undefined;
  /** Of a name with a price of its own: what auto-renew will cost. */
  readonly renewalFee?: RenewalFee | undefined;
  /** The part of the price that is for the application; absent: there is none. */
  readonly application?: ApplicationPrice | undefined;
}

const commands: Readonly<Record<QuoteRequest['operation'], FeeCommand>> = {
  registration: 'create',
  renewal: 'renew',
  transfer: 'transfer',
};
const failures = {
  registration: 'registration_failed',
  renewal: 'renew_failed',
  transfer: 'transfer_failed',
} as const;

/**
 * Throws `bad_request` for a TLD or a number of years that is not sold, `internal` where the registry does not answer, and the code of
 * the operation's failure for a name whose price nobody here has put into EUR.
 */
export async function quote(deps: QuoteDependencies, request: QuoteRequest): Promise<Quote> {
  const { name, operation, tld, years } = request;
  const { clock, prices } = deps;
  const now = clock.now();
  const terms = prices.get(tld, now);
  requireYearsOf(terms, operation, years);
  const command = commands[operation];
  const fee = await askFee(deps, name, command, years);
  const application = operation === 'registration' ? applicationOf(terms) : undefined;
  if (fee === undefined || !prices.isPremium(tld, { command, fee, years }, now)) {
    return { priceCents: priceCents(terms, operation, years), fee, application };
  }
  const premiumCents = prices.premiumCents(tld, { command, fee }, now);
  if (premiumCents === undefined) {
    throw new ApiError(failures[operation], {
      message: `${name} has a price of its own at its registry, at which it is not sold here. Nothing was charged.`,
      details: { reason: 'premium' },
    });
  }
  const renewalYears = terms.renewalYears.min;
  const renewal =
    operation === 'renewal' && years === renewalYears ? fee : await askFee(deps, name, 'renew', renewalYears);
  return {
    priceCents: premiumCents + (application?.cents ?? 0),
    fee,
    renewalFee: renewal && { ...renewal, years: renewalYears },
    application,
  };
}

/** Of another holder: registries do not say what that costs. Throws `bad_request` for a TLD that is not sold. */
export function quoteTrade(prices: Pick<PriceBook, 'get'>, tld: string, at: Date): Pick<Quote, 'priceCents'> {
  return { priceCents: priceCents(prices.get(tld, at), 'trade', 0) };
}

async function askFee(
  { registry }: QuoteDependencies,
  name: string,
  command: FeeCommand,
  years: number,
): Promise<RegistryFee | undefined> {
  try {
    return await registry.feeOf({ name, command, years });
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    const message = 'The registry does not say what the name costs now. Nothing was charged; repeat the call.';
    throw new ApiError('internal', { message, cause: error });
  }
}
