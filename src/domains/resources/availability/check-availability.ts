import type { Clock } from '../../../kernel/clock/clock.ts';
import { type DomainName, normalizeName, underSuffix } from '../../names/normalize-name.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { TldTerms } from '../../prices/tlds.ts';
import type { Availability, LaunchDemand } from '../../registry/registry.ts';
import type { LookUpNames } from './look-up-names.ts';
import { priceOf } from './price-of.ts';
import type { AvailabilityReport, AvailabilityResult, PriceQuote } from './schema.ts';

/** Where a name without a TLD is looked up. */
export const DEFAULT_TLDS = ['com', 'net', 'org', 'io', 'dev', 'app', 'ai', 'eu'] as const;

/** What UTS 46 takes for a dot. */
const DOT = /[.\u3002\uff0e\uff61]/u;

export interface AvailabilityDependencies {
  readonly lookUp: LookUpNames;
  readonly prices: PriceBook;
  readonly clock: Clock;
  /** Whether notices of trademark claims can be read here. Default: they cannot. */
  readonly showsNotices?: boolean;
}

/**
 * What is known of the name that was asked for, or of the label under those of `DEFAULT_TLDS` that are sold. Throws `bad_request` for
 * text that is no name. All names are looked up together; what the registry does not answer is `unknown`, never `available`.
 */
export async function checkAvailability(
  { clock, lookUp, prices, showsNotices = false }: AvailabilityDependencies,
  query: string,
): Promise<AvailabilityReport> {
  const now = clock.now();
  const names = readNames(query, prices, now);
  const asked = names.filter(({ ascii, tld }) => prices.find(tld, now) !== undefined && !prices.isReserved(ascii));
  const answers = asked.length === 0 ? [] : await lookUp(asked);
  const byName = new Map(answers.map((answer) => [answer.name, answer]));
  const results = names.map((name): AvailabilityResult => {
    const terms = prices.find(name.tld, now);
    if (terms === undefined) return renderResult(name, 'unsupported_tld', null);
    const answer = byName.get(name.ascii) ?? NO_ANSWER;
    const price = priceOf({ prices, terms, now }, answer.fees);
    if (prices.isReserved(name.ascii)) return renderResult(name, 'reserved', price, 'The name is not sold here.');
    const { availability } = answer;
    if (availability !== 'available') return renderResult(name, availability, price);
    if (price !== null) {
      const free = { ...renderResult(name, availability, price), ...launchOf(terms) };
      return underLaunch(free, answer.launch, showsNotices);
    }
    return renderResult(
      name,
      'reserved',
      null,
      'The registry sells it at a price of its own, at which it is not sold here.',
    );
  });
  return { query, results };
}

const NO_ANSWER: Pick<Availability, 'availability' | 'fees' | 'launch'> = { availability: 'unknown' };

/** The phase that a TLD is in; nothing where it is not being launched. */
function launchOf({ launch }: TldTerms): Pick<AvailabilityResult, 'launch'> {
  return launch === undefined ? {} : { launch: { ...launch.phase, applications: launch.isApplication } };
}

/** What a name of a TLD that is being launched is for whoever asks. */
function underLaunch(
  free: AvailabilityResult,
  launch: LaunchDemand = { kind: 'none' },
  showsNotices: boolean,
): AvailabilityResult {
  const closed = (reason: string): AvailabilityResult => ({ ...free, available: false, status: 'reserved', reason });
  switch (launch.kind) {
    case 'none':
      return free;
    case 'claims_notice':
      return showsNotices
        ? { ...free, requires: 'claims_notice' }
        : closed('A trademark claims the name, and its notice cannot be shown here, so it is not sold here.');
    case 'mark':
      return { ...free, requires: launch.requires };
    case 'refused':
      return closed(`${launch.reason.charAt(0).toUpperCase()}${launch.reason.slice(1)}.`);
    default:
      return launch satisfies never;
  }
}

/** Where none of the usual TLDs is sold, those that are listed first. */
function readNames(query: string, prices: PriceBook, now: Date): DomainName[] {
  if (DOT.test(query)) return [normalizeName(query, 'q')];
  const usual = DEFAULT_TLDS.filter((tld) => prices.find(tld, now) !== undefined);
  const listed = prices.list(now).map(({ tld }) => tld);
  const tlds = usual.length > 0 ? usual : listed.slice(0, DEFAULT_TLDS.length);
  const [first = DEFAULT_TLDS[0], ...others] = tlds;
  const name = normalizeName(`${query}.${first}`, 'q');
  return [name, ...others.map((tld) => underSuffix(name, tld))];
}

function renderResult(
  { ascii, unicode, tld }: DomainName,
  status: AvailabilityResult['status'],
  price: PriceQuote | null,
  reason?: string,
): AvailabilityResult {
  return {
    domain: ascii,
    ...(unicode === ascii ? {} : { unicode }),
    available: status === 'unknown' ? null : status === 'available',
    status,
    reason: status === 'available' ? null : (reason ?? reasonOf(status, tld)),
    price,
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
