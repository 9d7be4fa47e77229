import { type DomainName, normalizeName, underSuffix } from '../../names/normalize-name.ts';
import { toEuros } from '../../prices/money.ts';
import { offeredTlds } from '../../prices/tlds.ts';
import type { Availability } from '../../registry/registry.ts';
import type { LookUpNames } from './look-up-names.ts';
import type { AvailabilityReport, AvailabilityResult, PriceQuote } from './schema.ts';

/** Where a name without a TLD is looked up. */
export const DEFAULT_TLDS = ['com', 'net', 'org', 'io', 'dev', 'app', 'ai', 'eu'] as const;

/** What UTS 46 takes for a dot. */
const DOT = /[.\u3002\uff0e\uff61]/u;

/** Fixed while the process runs: made once, not for each request. */
const quotes: ReadonlyMap<string, PriceQuote> = new Map(
  offeredTlds.map((terms) => [
    terms.tld,
    {
      currency: 'EUR',
      register: toEuros(terms.registerCents),
      renew: toEuros(terms.renewCents),
      transfer: toEuros(terms.transferCents),
      min_years: terms.registrationYears.min,
      max_years: terms.registrationYears.max,
    },
  ]),
);

/**
 * What is known of the name that was asked for, or of the label under each of `DEFAULT_TLDS`. Throws `bad_request` for text
 * that is no name. All names are looked up together; what the registry does not answer is `unknown`, never `available`.
 */
export async function checkAvailability(lookUp: LookUpNames, query: string): Promise<AvailabilityReport> {
  const names = readNames(query);
  const offered = names.filter(({ tld }) => quotes.has(tld));
  if (offered.length === 0) return { query, results: names.map((name) => renderResult(name, 'unsupported_tld')) };
  const answers = await lookUp(offered);
  const byName = new Map(answers.map((answer) => [answer.name, answer]));
  return {
    query,
    results: names.map((name) => {
      if (!quotes.has(name.tld)) return renderResult(name, 'unsupported_tld');
      const { availability, reason } = byName.get(name.ascii) ?? NO_ANSWER;
      return renderResult(name, availability, availability === 'taken' ? undefined : reason);
    }),
  };
}

const NO_ANSWER: Pick<Availability, 'availability' | 'reason'> = { availability: 'unknown' };

function readNames(query: string): DomainName[] {
  if (DOT.test(query)) return [normalizeName(query, 'q')];
  const [first, ...others] = DEFAULT_TLDS;
  const name = normalizeName(`${query}.${first}`, 'q');
  return [name, ...others.map((tld) => underSuffix(name, tld))];
}

function renderResult(
  { ascii, unicode, tld }: DomainName,
  status: AvailabilityResult['status'],
  reason?: string,
): AvailabilityResult {
  return {
    domain: ascii,
    ...(unicode === ascii ? {} : { unicode }),
    available: status === 'unknown' ? null : status === 'available',
    status,
    reason: status === 'available' ? null : (reason ?? reasonOf(status, tld)),
    price: quotes.get(tld) ?? null,
  };
}

function reasonOf(status: Exclude<AvailabilityResult['status'], 'available'>, tld: string): string {
  switch (status) {
    case 'taken':
      return 'The name is registered.';
    case 'reserved':
      return 'The registry keeps this name back.';
    case 'unsupported_tld':
      return `Names under \`.${tld}\` are not offered. GET /tlds lists the TLDs that are.`;
    case 'unknown':
      return 'The registry gave no answer in time. Ask again in a moment.';
  }
}
