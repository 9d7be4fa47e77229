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

export interface FakeCustomer {
  readonly id: string;
  readonly object: 'customer';
  readonly name: string | undefined;
  readonly metadata: Record<string, string>;
}

/** A card that a customer has saved; `behaviour` is one of the test cards. */
export interface FakeCard {
  readonly id: string;
  readonly customer: string;
  behaviour: string;
}

export interface FakeRefund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly payment_intent: string;
  readonly metadata: Record<string, string>;
  status: string;
}

export interface FakeDispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly amount: number;
  readonly currency: string;
  readonly charge: string;
  readonly payment_intent: string;
  readonly metadata: Record<string, string>;
  status: string;
  /** Amounts in which the money left and came back, without fees. */
  readonly balance_transactions: { readonly id: string; readonly amount: number }[];
}

export interface FakeSession {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly mode: string;
  readonly amount_total: number | null;
  readonly customer_email: string | undefined;
  readonly customer: string | null;
  readonly success_url: string;
  readonly metadata: Record<string, string>;
  /** Of the intent that pays it. */
  readonly intentMetadata: Record<string, string>;
  readonly url: string;
  status: string;
  payment_status: string;
  payment_intent: string | null;
  setup_intent: { readonly id: string; readonly object: 'setup_intent'; readonly payment_method: string } | null;
}

export interface StripeState {
  readonly intents: Map<string, FakeIntent>;
  readonly refunds: Map<string, FakeRefund>;
  readonly disputes: Map<string, FakeDispute>;
  readonly sessions: Map<string, FakeSession>;
  readonly customers: Map<string, FakeCustomer>;
  readonly savedCards: Map<string, FakeCard>;
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
  if (route === 'GET refunds') return listRefunds(state, searchParams.get('payment_intent') ?? '');
  if (route === 'GET disputes') return listDisputes(state, searchParams);
  if (route === 'POST customers') return createCustomer(state, asked);
  if (route === 'POST billing_portal') return createPortal(state, asked);
  if (route === 'POST checkout') return createSession(state, asked);
  if (route === 'POST payment_methods' && action === 'detach') return detachCard(state, id);
  if (route === 'GET checkout' && action === undefined) {
    return listSessions(state, searchParams.get('payment_intent') ?? '');
  }
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
  const saved = state.savedCards.get(body.payment_method ?? '');
  if (saved !== undefined && saved.customer !== body.customer) {
    return invalid({
      param: 'payment_method',
      message: 'The PaymentMethod does not belong to the Customer you supplied.',
    });
  }
  const method = saved?.behaviour ?? body.payment_method ?? '';
  const card = sharedToken === undefined ? cards[method] : cards[token.replace(/^spt_/, 'pm_')];
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
  // What the bank has taken back is not given back besides.
  const isTaken = [...state.disputes.values()].some(
    ({ balance_transactions: moves, payment_intent }) => payment_intent === intent.id && moves.length === 1,
  );
  if (isTaken) return invalid({ code: 'charge_disputed' });
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
    metadata: membersOf(body, 'metadata'),
    status: 'succeeded',
  };
  state.refunds.set(refund.id, refund);
  return { status: 200, body: refund };
}

function listRefunds(state: StripeState, intentId: string): StripeReply {
  const data = [...state.refunds.values()].filter(({ payment_intent }) => payment_intent === intentId);
  return { status: 200, body: { object: 'list', data, has_more: false } };
}

function listSessions(state: StripeState, intentId: string): StripeReply {
  const data = [...state.sessions.values()].filter(({ payment_intent }) => payment_intent === intentId);
  return { status: 200, body: { object: 'list', data, has_more: false } };
}

function listDisputes(state: StripeState, query: URLSearchParams): StripeReply {
  const expands = query.get('expand[0]') === 'data.payment_intent';
  const data = [...state.disputes.values()]
    .filter(({ payment_intent }) => payment_intent === query.get('payment_intent'))
    .map((dispute) => (expands ? { ...dispute, payment_intent: state.intents.get(dispute.payment_intent) } : dispute));
  return { status: 200, body: { object: 'list', data, has_more: false } };
}

/** As the bank of a card's holder: an inquiry first, or the money at once. */
export function disputeIntent(state: StripeState, intentId: string, amount: number, isInquiry: boolean): FakeDispute {
  const dispute: FakeDispute = {
    id: newId('dp'),
    object: 'dispute',
    amount,
    currency: 'eur',
    charge: newId('ch'),
    payment_intent: intentId,
    metadata: {},
    status: isInquiry ? 'warning_needs_response' : 'needs_response',
    balance_transactions: [],
  };
  state.disputes.set(dispute.id, dispute);
  if (!isInquiry) moveDisputed(dispute, -1);
  return dispute;
}

export function moveDisputed(dispute: FakeDispute, sign: -1 | 1): void {
  dispute.balance_transactions.push({ id: newId('txn'), amount: sign * dispute.amount });
}

function createCustomer(state: StripeState, { body }: StripeRequest): StripeReply {
  const metadata = membersOf(body, 'metadata');
  const customer: FakeCustomer = { id: newId('cus'), object: 'customer', name: body.name, metadata };
  state.customers.set(customer.id, customer);
  return { status: 200, body: customer };
}

function detachCard(state: StripeState, id: string): StripeReply {
  if (!state.savedCards.delete(id)) return invalid({ code: 'resource_missing', param: 'payment_method' }, 404);
  return { status: 200, body: { id, object: 'payment_method', customer: null } };
}

function createPortal(state: StripeState, { body }: StripeRequest): StripeReply {
  if (!state.customers.has(body.customer ?? '')) return invalid({ code: 'resource_missing', param: 'customer' });
  const id = newId('bps');
  return { status: 200, body: { id, object: 'billing_portal.session', url: `https://billing.stripe.test/p/${id}` } };
}

/** The intent that a page makes when somebody pays on it. */
export function payOnPage(state: StripeState, session: FakeSession): void {
  const intent: FakeIntent = {
    id: newId('pi'),
    object: 'payment_intent',
    amount: session.amount_total ?? 0,
    currency: 'eur',
    metadata: session.intentMetadata,
    isPaidMeanwhile: false,
    status: 'succeeded',
  };
  state.intents.set(intent.id, intent);
  session.payment_intent = intent.id;
}

/** The card that a page saves when somebody enters one there. */
export function saveOnPage(state: StripeState, session: FakeSession, behaviour: string): FakeCard {
  const card: FakeCard = { id: newId('pm'), customer: session.customer ?? '', behaviour };
  state.savedCards.set(card.id, card);
  session.setup_intent = { id: newId('seti'), object: 'setup_intent', payment_method: card.id };
  return card;
}

/** A refund that somebody gives at Stripe's own site. */
export function refundIntent(state: StripeState, intentId: string, amount: number): FakeRefund {
  const { body } = createRefund(state, {
    method: 'POST',
    path: '/v1/refunds',
    version: undefined,
    idempotencyKey: undefined,
    body: { payment_intent: intentId, amount: String(amount) },
  });
  if (!('id' in body)) throw new Error(`no refund: ${JSON.stringify(body)}`);
  return body as FakeRefund;
}

function createSession(state: StripeState, { body }: StripeRequest): StripeReply {
  // Gone with the version 2026-09-30: allowed_payment_method_types took its place.
  if ('payment_method_types[0]' in body) return invalid({ code: 'parameter_unknown', param: 'payment_method_types' });
  if (body.success_url === undefined) return invalid({ param: 'success_url' });
  if (body.mode !== 'payment' && body.mode !== 'setup') return invalid({ param: 'mode' });
  const isSetup = body.mode === 'setup';
  if (isSetup && body.currency === undefined) return invalid({ param: 'currency' });
  if (body.customer !== undefined && !state.customers.has(body.customer)) {
    return invalid({ code: 'resource_missing', param: 'customer' });
  }
  const amount = Number(body['line_items[0][price_data][unit_amount]']);
  if (!isSetup && !(amount >= LEAST_CENTS)) return invalid({ code: 'amount_too_small', param: 'line_items' });
  const id = newId('cs_test');
  const session: FakeSession = {
    id,
    object: 'checkout.session',
    mode: body.mode,
    amount_total: isSetup ? null : amount,
    customer_email: body.customer_email,
    customer: body.customer ?? null,
    success_url: body.success_url,
    metadata: membersOf(body, 'metadata'),
    intentMetadata: membersOf(body, 'payment_intent_data[metadata]'),
    url: `https://checkout.stripe.test/c/pay/${id}`,
    status: 'open',
    payment_status: isSetup ? 'no_payment_required' : 'unpaid',
    payment_intent: null,
    setup_intent: null,
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
    const member = key.startsWith(`${name}[`) ? /^([^[\]]+)\]$/.exec(key.slice(name.length + 1))?.[1] : undefined;
    return member === undefined ? [] : [[member, value] as const];
  });
  return Object.fromEntries(members);
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}
