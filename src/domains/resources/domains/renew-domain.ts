import { ApiError } from '../../../kernel/http/errors.ts';
import { type Deadline, READ_MS } from '../../deadline.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy, type OrderRow } from '../../orders/index.ts';
import { type DomainRow, EXPIRY_TOLERANCE_MS, endOfPaidTerm, ownDomain } from '../../portfolio/index.ts';
import { quote } from '../../prices/quote.ts';
import { expiryNotShown, type RegistryDomain, RegistryUnavailable } from '../../registry/registry.ts';
import { addYears } from '../../registry/term.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { RenewalOrder } from './schema.ts';
import { agreePrice, answerSpending, instrumentOf } from './spend.ts';

/** After a registration or a transfer a registry may show another end for a while. */
const SHOWN_WITHIN_MS = 86_400_000;

export function renewDomain(deps: DomainDependencies) {
  return async (request: WorkspaceTurn<{ params: { name: string }; body: RenewalOrder }>) =>
    answerSpending(deps, request, 200, (deadline) => renew(deps, request, deadline));
}

async function renew(
  deps: DomainDependencies,
  request: WorkspaceTurn<{ params: { name: string }; body: RenewalOrder }>,
  deadline: Deadline,
): Promise<OrderRow> {
  const { body, caller, idempotency, params } = request;
  const row = await ownDomain(workspaceDb(deps.db, caller.workspaceId), params.name);
  const { tld } = normalizeName(row.name, 'name');
  const years = body.duration ?? 1;
  const { priceCents, fee, isPriceUnasked } = await agreePrice(
    () => quote(deps, { name: row.name, tld, operation: 'renewal', years }),
    body,
  );
  const instrument = instrumentOf(body);
  const fromExpiresAt = await endOfTerm(deps, row);
  requireWithinCap(deps, { name: row.name, tld, until: addYears(fromExpiresAt, years) });
  return buy(
    deps,
    {
      workspaceId: caller.workspaceId,
      kind: 'renewal',
      origin: 'request',
      name: row.name,
      years,
      priceCents,
      fee,
      isPriceUnasked,
      instrument,
      claim: idempotency,
    },
    { deadline, term: { domainId: row.id, fromExpiresAt } },
  );
}

/**
 * As the registry shows it now: a renewal names the expiry that it moves. While the registry does not answer, or does not show it, as it did
 * last: it refuses a renewal of a term that has moved since, and nothing is charged then.
 */
async function endOfTerm({ clock, registry }: DomainDependencies, row: DomainRow): Promise<Date> {
  let info: RegistryDomain | undefined;
  try {
    info = await registry.info(row.name, { timeoutMs: READ_MS });
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    const shown = row.snapshot?.expiresAt;
    const end =
      shown === undefined
        ? row.expires_at
        : endOfPaidTerm(registry.habitsOf(row.name), row.billed_until, new Date(shown));
    if (row.snapshot !== null && isKnownEnd(row, end)) return end;
    const message = 'The registry does not answer now. Nothing was charged; repeat the call.';
    throw new ApiError('internal', { message, cause: error });
  }
  if (row.state === 'active' && info?.isOurs === true) {
    if (info.expiresAt !== undefined) {
      const shown = new Date(info.expiresAt);
      const habits = registry.habitsOf(row.name);
      requireCurrent(row, shown, { isRenewedByItself: habits.autoRenewGraceDays !== undefined, now: clock.now() });
      return endOfPaidTerm(habits, row.billed_until, shown);
    }
    if (isKnownEnd(row, row.expires_at)) return row.expires_at;
    const message = `The registry does not show now when the term of ${row.name} ends. Nothing was charged; repeat the call.`;
    throw new ApiError('internal', { message, cause: expiryNotShown(row.name) });
  }
  throw new ApiError('renew_failed', {
    message: `The registry does not report ${row.name} as registered here yet, so there is no term to renew. Nothing was charged; repeat the call later.`,
  });
}

/** Not less than was paid for: that was wrong, or is about to change, and an order that moves it would seem to be done already. */
function isKnownEnd(row: DomainRow, end: Date | null): end is Date {
  return row.state === 'active' && end !== null && !isLessThanPaid(row, end);
}

function isLessThanPaid({ billed_until: paidUntil }: DomainRow, end: Date): boolean {
  return paidUntil !== null && end.getTime() < paidUntil.getTime() - EXPIRY_TOLERANCE_MS;
}

/** A renewal of an end that is wrong for a while would seem to be done as soon as it is right, and buy nothing. */
function requireCurrent(
  row: DomainRow,
  shown: Date,
  { isRenewedByItself, now }: { readonly isRenewedByItself: boolean; readonly now: Date },
): void {
  if (!isLessThanPaid(row, shown)) return;
  const isNew = now.getTime() - row.registrant_since.getTime() < SHOWN_WITHIN_MS;
  // Else it may stay so, and the name is renewed from there; but a registry that renews by itself shows no end that is over.
  if (!isNew && !(isRenewedByItself && shown <= now)) return;
  throw new ApiError('internal', {
    message: `The registry does not show yet until when ${row.name} is paid for. Nothing was charged; repeat the call.`,
  });
}

function requireWithinCap(
  { clock, prices }: DomainDependencies,
  { name, tld, until }: { readonly name: string; readonly tld: string; readonly until: Date },
): void {
  const now = clock.now();
  const { maxTermYears } = prices.get(tld, now);
  if (until <= addYears(now, maxTermYears)) return;
  throw new ApiError('renew_failed', {
    message: `${name} would be paid for until ${until.toISOString().slice(0, 10)}; its registry takes at most ${maxTermYears} years ahead. Renew for fewer years, or later.`,
  });
}
