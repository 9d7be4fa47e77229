/** The resources of the fake Stripe: what each request does and answers. */
import { randomBytes } from 'node:crypto';
import type { StripeRequest } from './stripe-server.ts';

/** The version of Stripe's interface since which a PaymentIntent takes a shared payment token. */
const SHARED_TOKEN_VERSION = '2026-04-22.preview';

export interface FakeIntent {
  readonly id: string;
  readonly object: 'payment_intent';
  readonly amount: number;
  readonly currency: string;
  readonly metadata: Record<string, string>;
  readonly isPaidMeanwhile: boolean;
  status: string;
}

export interface FakeRefund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly payment_intent: string;
  readonly status: string;
}

export interface FakeSession {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly amount_total: number;
  readonly customer_email: string | undefined;
  readonly metadata: Record<string, string>;
  readonly url: string;
  status: string;
  payment_status: string;
}

export interface StripeState {
  readonly intents: Map<string, FakeIntent>;
  readonly refunds: Map<string, FakeRefund>;
  readonly sessions: Map<string, FakeSession>;
}

export interface StripeReply {
  readonly status: number;
  readonly body: object;
  /** Refused before anything was done: an idempotency key does not keep it. */
  readonly isInvalid?: boolean;
}

/** What these test cards do, by the names that Stripe's documentation of testing gives them; the last three are ours. */
const cards: Readonly<Record<string, { status?: string; code?: string; decline_code?: string; message?: string }>> = {
  pm_card_visa: { status: 'succeeded' },
  pm_card_chargeDeclined: {
    code: 'card_declined',
    decline_code: 'generic_decline',
    message: 'Your card was declined.',
  },
  pm_card_chargeDeclinedInsufficientFunds: {
    code: 'card_declined',
    decline_code: 'insufficient_funds',
    message: 'Your card has insufficient funds.',
  },
  pm_card_chargeDeclinedExpiredCard: { code: 'expired_card', message: 'Your card has expired.' },
  pm_card_authenticationRequired: {
    code: 'authentication_required',
    decline_code: 'authentication_required',
    message: 'Your card was declined. This transaction requires authentication.',
  },
  pm_card_requiresAction: { status: 'requires_action' },
  pm_card_processing: { status: 'processing' },
  /** Its holder acts just before the intent is cancelled. */
  pm_card_paidMeanwhile: { status: 'requires_action', message: 'paid meanwhile' },
};

const LEAST_CENTS = 50;

export function serveStripe(state: StripeState, asked: StripeRequest): StripeReply {
  const { pathname, searchParams } = new URL(asked.path, 'http://stripe.test');
  const [, , resource = '', id = '', action] = pathname.split('/');
  const route = `${asked.method} ${resource}`;
  if (route === 'POST payment_intents' && id === '') return createIntent(state, asked);
  if (route === 'POST payment_intents' && action === 'cancel') return cancelIntent(state, id);
  if (route === 'GET payment_intents' && id === 'search') return searchIntents(state, searchParams.get('query') ?? '');
  if (route === 'GET payment_intents') return found(state.intents.get(id));
  if (route === 'POST refunds') return createRefund(state, asked);
  if (route === 'POST checkout') return createSession(state, asked);
  if (route === 'GET checkout') return found(state.sessions.get(action ?? ''));
  return invalid({ message: `Unrecognized request URL (${asked.method}: ${asked.path}).` }, 404);
}

function createIntent(state: StripeState, { body, version }: StripeRequest): StripeReply {
  const amount = Number(body.amount);
  if (amount < LEAST_CENTS) return invalid({ code: 'amount_too_small', param: 'amount' });
  if (body.confirm !== 'true' || body.currency !== 'eur')
    return invalid({ code: 'parameter_missing', param: 'confirm' });
  const sharedToken = body['payment_method_data[shared_payment_granted_token]'];
  if (sharedToken !== undefined && version !== SHARED_TOKEN_VERSION) {
    return invalid({ code: 'parameter_unknown', param: 'payment_method_data[shared_payment_granted_token]' });
  }
  const token = sharedToken ?? '';
  const card = sharedToken === undefined ? cards[body.payment_method ?? ''] : cards[token.replace(/^spt_/, 'pm_')];
  if (card === undefined) {
    const param = sharedToken === undefined ? 'payment_method' : 'payment_method_data[shared_payment_granted_token]';
    return invalid({
      code: 'resource_missing',
      param,
      message: `No such instrument: '${body.payment_method ?? token}'`,
    });
  }
  const intent: FakeIntent = {
    id: newId('pi'),
    object: 'payment_intent',
    amount,
    currency: 'eur',
    metadata: membersOf(body, 'metadata'),
    isPaidMeanwhile: card.message === 'paid meanwhile',
    status: card.status ?? 'requires_payment_method',
  };
  state.intents.set(intent.id, intent);
  if (card.status !== undefined) return { status: 200, body: { ...intent } };
  const { status: _, ...error } = card;
  return { status: 402, body: { error: { type: 'card_error', ...error, payment_intent: { ...intent } } } };
}

function cancelIntent(state: StripeState, id: string): StripeReply {
  const intent = state.intents.get(id);
  if (intent === undefined) return invalid({ code: 'resource_missing', param: 'intent' }, 404);
  if (intent.isPaidMeanwhile) intent.status = 'succeeded';
  if (['succeeded', 'canceled', 'processing'].includes(intent.status)) {
    return invalid({ code: 'payment_intent_unexpected_state' });
  }
  intent.status = 'canceled';
  return { status: 200, body: { ...intent } };
}

function searchIntents(state: StripeState, query: string): StripeReply {
  const [, name = '', value] = /^metadata\["([^"]+)"\]:"([^"]+)"$/.exec(query) ?? [];
  if (value === undefined) return invalid({ message: `cannot search for ${query}` });
  const data = [...state.intents.values()].filter(({ metadata }) => metadata[name] === value);
  return { status: 200, body: { object: 'search_result', data, has_more: false } };
}

function createRefund(state: StripeState, { body }: StripeRequest): StripeReply {
  const intent = state.intents.get(body.payment_intent ?? '');
  if (intent === undefined) return invalid({ code: 'resource_missing', param: 'payment_intent' }, 404);
  const given = [...state.refunds.values()].filter(({ payment_intent }) => payment_intent === intent.id);
  const refunded = given.reduce((sum, { amount }) => sum + amount, 0);
  const amount = Number(body.amount);
  if (refunded === intent.amount) return invalid({ code: 'charge_already_refunded' });
  if (refunded + amount > intent.amount) return invalid({ param: 'amount' });
  const refund: FakeRefund = {
    id: newId('re'),
    object: 'refund',
    amount,
    payment_intent: intent.id,
    status: 'succeeded',
  };
  state.refunds.set(refund.id, refund);
  return { status: 200, body: refund };
}

function createSession(state: StripeState, { body }: StripeRequest): StripeReply {
  // Gone with the version 2026-09-30: allowed_payment_method_types took its place.
  if ('payment_method_types[0]' in body) return invalid({ code: 'parameter_unknown', param: 'payment_method_types' });
  if (body.mode !== 'payment' || body.success_url === undefined) return invalid({ param: 'success_url' });
  const amount = Number(body['line_items[0][price_data][unit_amount]']);
  if (amount < LEAST_CENTS) return invalid({ code: 'amount_too_small', param: 'line_items' });
  const id = newId('cs_test');
  const session: FakeSession = {
    id,
    object: 'checkout.session',
    amount_total: amount,
    customer_email: body.customer_email,
    metadata: membersOf(body, 'metadata'),
    url: `https://checkout.stripe.test/c/pay/${id}`,
    status: 'open',
    payment_status: 'unpaid',
  };
  state.sessions.set(id, session);
  return { status: 200, body: { ...session } };
}

function found(object: object | undefined): StripeReply {
  return object === undefined ? invalid({ code: 'resource_missing' }, 404) : { status: 200, body: object };
}

function invalid(error: { code?: string; param?: string; message?: string }, status = 400): StripeReply {
  const message = error.message ?? `Invalid request: ${error.param ?? error.code ?? ''}`;
  return { status, body: { error: { type: 'invalid_request_error', ...error, message } }, isInvalid: true };
}

/** The members of a form-encoded object: `metadata[order]=…`. */
function membersOf(body: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const members = Object.entries(body).flatMap(([key, value]) => {
    const [, member] = new RegExp(`^${name}\\[([^\\]]+)\\]$`).exec(key) ?? [];
    return member === undefined ? [] : [[member, value] as const];
  });
  return Object.fromEntries(members);
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}
