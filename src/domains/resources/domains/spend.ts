/** What the spending calls have in common: the price that is agreed to, what pays, and the stored answer. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply, IdempotencyClaim } from '../../../kernel/http/operation.ts';
import type { Caller } from '../../access/caller.ts';
import { answerOnce } from '../../answer-once.ts';
import { CHANGE_MS, type Deadline, startDeadline } from '../../deadline.ts';
import { joinOrder, type OrderRow } from '../../orders/index.ts';
import { findDomainById } from '../../portfolio/index.ts';
import { parsePrice, toEuros } from '../../prices/money.ts';
import type { Quote } from '../../prices/quote.ts';
import { RegistryUnavailable } from '../../registry/registry.ts';
import type { Instrument } from '../../wallet/payments/payments.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { Spending } from './schema.ts';

export interface PaymentChoice {
  readonly confirm_price: number | string;
  readonly payment_method?: string;
  readonly shared_payment_token?: string;
}

/** `years`: where the price decides about them. */
type PricedYears = Quote & { readonly years?: number };

export interface AgreedPrice extends PricedYears {
  /** The registry does not say it: this is what the caller takes it for. */
  readonly isPriceUnasked?: true;
}

/**
 * What it costs, once the caller has agreed to that. A registry that is too busy, or away, is asked later, by the order. Throws what `ask` and
 * `confirmPrice` throw.
 */
export async function agreePrice(ask: () => Promise<PricedYears>, choice: PaymentChoice): Promise<AgreedPrice> {
  try {
    const quoted = await ask();
    confirmPrice(quoted.priceCents, choice);
    return quoted;
  } catch (error) {
    if (!isUnsaid(error)) throw error;
    return { priceCents: readConfirmed(choice), isPriceUnasked: true };
  }
}

/** The registry has not said it in time. */
export function isUnsaid(error: unknown): boolean {
  return (error instanceof ApiError ? error.cause : error) instanceof RegistryUnavailable;
}

function readConfirmed({ confirm_price: confirmed }: PaymentChoice): number {
  const confirmedCents = parsePrice(confirmed);
  if (confirmedCents !== undefined) return confirmedCents;
  throw new ApiError('bad_request', {
    message: '`confirm_price` must be an amount in EUR with at most two decimals, such as 12.34 or "12.34".',
    param: 'confirm_price',
  });
}

/** Throws `price_changed` where the caller agreed to another price, `bad_request` where to none. */
function confirmPrice(priceCents: number, choice: PaymentChoice): void {
  const { confirm_price: confirmed } = choice;
  if (readConfirmed(choice) === priceCents) return;
  const current = toEuros(priceCents);
  throw new ApiError('price_changed', {
    message: `The price is ${current} EUR and \`confirm_price\` says ${confirmed}. Repeat the call with ${current} if that is acceptable.`,
    details: { current_price: current, currency: 'EUR' },
  });
}

/** What pays; undefined: the wallet. Throws `bad_request` where two instruments are named. */
export function instrumentOf(choice: PaymentChoice): Instrument | undefined {
  const { payment_method: method, shared_payment_token: token } = choice;
  if (method !== undefined && token !== undefined) {
    throw new ApiError('bad_request', {
      message: 'Send `payment_method` or `shared_payment_token`, not both.',
      param: 'shared_payment_token',
    });
  }
  if (method !== undefined) return { kind: 'payment_method', value: method };
  return token === undefined ? undefined : { kind: 'shared_payment_token', value: token };
}

interface SpendingCall {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
}

/** Answers a repetition from the stored answer or joins its order; otherwise buys. Stores the answer of a success. */
export async function answerSpending(
  deps: DomainDependencies,
  call: SpendingCall,
  status: number,
  purchase: (deadline: Deadline) => Promise<OrderRow>,
): Promise<HttpReply<Spending>> {
  const spend = async () => {
    const deadline = startDeadline(CHANGE_MS);
    const joined = await joinOrder(deps, call.caller.workspaceId, call.idempotency, deadline);
    return renderSpending(deps, joined ?? (await purchase(deadline)));
  };
  return answerOnce(deps, call, spend, status);
}

async function renderSpending({ db }: DomainDependencies, order: OrderRow): Promise<Spending> {
  const isCompleted = order.state === 'completed';
  const domain = isCompleted ? await findDomainById(workspaceDb(db, order.workspace_id), order.domain_id) : undefined;
  return {
    domain: order.name,
    kind: order.kind,
    status: isCompleted ? 'Completed' : 'Pending',
    order_id: order.id,
    duration: order.years,
    price: toEuros(order.amount_cents),
    currency: 'EUR',
    paid_with: order.pays_with,
    expires_at: domain?.expires_at?.toISOString() ?? null,
  };
}
