/** The page on which a person pays for a top-up: of which amounts, and how it is opened. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { parsePrice } from '../../prices/money.ts';
import type { Payments, TopUp } from './payments.ts';

const LEAST_CENTS = 100;
const MOST_CENTS = 1_000_000;

/** A page that is open at the payment provider, and written down nowhere yet. */
export interface TopUpPage {
  /** Of the payment. */
  readonly id: string;
  readonly amountCents: number;
  readonly page: TopUp;
}

/** The cents of an amount in EUR. Throws `bad_request` about the member `param`. `mostCents`: 10,000 EUR where it is left out. */
export function readTopUpAmount(amount: number | string, param: string, mostCents = MOST_CENTS): number {
  const cents = parsePrice(amount);
  if (cents !== undefined && cents >= LEAST_CENTS && cents <= mostCents) return cents;
  throw new ApiError('bad_request', {
    message: `\`${param}\` must be an amount in EUR from 1.00 to ${(mostCents / 100).toFixed(2)} with at most two decimals, such as 25 or "25.00".`,
    param,
  });
}

/** One that nobody is told of is never paid, and expires by itself. Throws `payment_failed`. */
export async function openTopUpPage(
  payments: Pick<Payments, 'openTopUp'>,
  email: string,
  amountCents: number,
): Promise<TopUpPage> {
  const id = mintId('pay');
  const page = await payments.openTopUp({
    idempotencyKey: `top_up:${id}`,
    amountCents,
    email,
    metadata: { payment: id },
  });
  return { id, amountCents, page };
}
