/**
 * Customers of the domain service who buy with cards and from wallets that are topped up, by themselves and by hand, dispute what they have paid, and
 * have cards that are declined for a while: one call at a time each, by chance, at whichever process lives.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { FakeCard, FakeDispute } from '../fakes/stripe-api.ts';
import type { FakeStripe, StripeFault } from '../fakes/stripe-server.ts';
import { type Answer, type Client, createClient, isConnectionLost } from '../support/http-client.ts';
import type { HookReceiver } from './hook-receiver.ts';
import type { Random } from './seeded-random.ts';
import type { TillReplicas } from './till-replicas.ts';

export interface Tally {
  bought: number;
  paid: number;
  disputes: number;
  declines: number;
  stripeFaults: number;
  /** Calls whose answer was lost with a process. */
  cut: number;
  /** Answers that nothing from outside explains. */
  readonly unexplained: string[];
}

export interface Till {
  readonly stripe: FakeStripe;
  readonly replicas: TillReplicas;
  readonly receiver: HookReceiver;
  readonly tally: Tally;
  readonly operations: number;
  begun: number;
  /** No more than so many begin for now. */
  allowed: number;
}

interface Customer {
  readonly token: string;
  readonly random: Random;
  readonly card: FakeCard;
}

const CUSTOMERS = 4;
const LOOK_MS = 20;
const DAY_MS = 86_400_000;
const PATIENCE = 1_500;
const TRIES = 4;
const PRICE = 11.9;
const CALLS_A_FAULT = 12;
/** Of names; the others are left to expire, and their owners told. */
const RENEWED_SHARE = 0.5;
const GOLDEN_RATIO = 0.6180339887;
const VISA = 'pm_card_visa';
const DECLINING = 'pm_card_chargeDeclined';
const FAULTS: readonly StripeFault[] = ['drop_before', 'drop_after', 'unavailable', 'fail'];
const AUTO_TOP_UP = { enabled: true, threshold: 20, amount: 30, monthly_limit: 100_000 };
const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
/** What a call may answer beside success: a card is declined or Stripe fails, money is wanting, the registry refuses. */
const EXPECTED = new Set(['payment_failed', 'insufficient_balance', 'registration_failed', 'service_overloaded']);
/** Its clock may not have been put ahead yet: then the event's time is wrong. */
const EXPECTED_OF_EVENTS = new Set([...EXPECTED, 'bad_request']);
/** In `internal`: what came of it is not known, and it says so. */
const UNKNOWN = /not known|does not answer|did not answer/;

/** Carries out the till's operations, one of each customer at a time. */
export async function driveTill(till: Till, random: Random): Promise<void> {
  const customers = await Promise.all(
    Array.from({ length: CUSTOMERS }, (_, number) => signUp(till, random.fork(), number)),
  );
  await Promise.all(
    customers.map(async (customer) => {
      while (till.begun < till.operations) {
        if (till.begun < till.allowed) await act(till, customer, ++till.begun);
        else await wait(LOOK_MS);
      }
    }),
  );
}

/** With a webhook for everything, a card that fills the wallet, and a name that is left to expire. */
async function signUp(till: Till, random: Random, number: number): Promise<Customer> {
  const { receiver, stripe } = till;
  const made = await must(till, '', random, (client) =>
    // Another address each time: who was cut off has an account already, and no token.
    client.post('/accounts', { email: `till-${number}-${random.integer(0, 1e9)}@example.com`, contact: CONTACT }),
  );
  const token: string = made.body.token.token;
  const path = `/${made.body.workspace.id}`;
  const hook = await must(till, token, random, (client) => client.post('/webhooks', { url: `${receiver.url}${path}` }));
  receiver.secrets.set(path, hook.body.secret);
  const page = await must(till, token, random, (client) => client.post('/wallet/card', {}));
  const card = stripe.saveCard(sessionOf(stripe, page.body.url));
  await must(till, token, random, (client) => client.put('/wallet/auto-top-up', AUTO_TOP_UP));
  const domain = `till-first-${number}.com`;
  const bought = { domain, confirm_price: PRICE, payment_method: VISA };
  const key = { 'idempotency-key': domain };
  await must(till, token, random, (client) => client.post('/domains', bought, key));
  await must(till, token, random, (client) => client.patch(`/domains/${domain}/settings`, { auto_renew: false }));
  return { token, random, card };
}

/** Each kind has its share of any sequence of numbers: what is done in each is left to chance. */
async function act(till: Till, customer: Customer, number: number): Promise<void> {
  const { stripe, tally } = till;
  if (number % CALLS_A_FAULT === 0) {
    stripe.failNext(customer.random.pick(FAULTS));
    tally.stripeFaults += 1;
  }
  const chance = (number * GOLDEN_RATIO) % 1;
  if (chance < 0.5) return buy(till, customer, number);
  if (chance < 0.8) return topUp(till, customer, number);
  if (chance < 0.9) return dispute(till, customer);
  return mistreatCard(till, customer);
}

async function buy(till: Till, { random, token }: Customer, number: number): Promise<void> {
  const isAnotherDay = dayAfter(till);
  const isRefused = random.next() < 0.15;
  const domain = `${isRefused ? 'refuse-' : ''}till-${number}.com`;
  const card = random.next() < 0.4 ? { payment_method: random.next() < 0.8 ? VISA : DECLINING } : {};
  const answer = await repeat(till, token, random, (client) =>
    client.post('/domains', { domain, confirm_price: PRICE, ...card }, { 'idempotency-key': `buy-${number}` }),
  );
  if (answer?.status !== 201) return;
  till.tally.bought += 1;
  if (random.next() < RENEWED_SHARE) return;
  // The name's term may have ended meanwhile.
  const expected = { has: (code: string) => EXPECTED.has(code) || (code === 'not_found' && isAnotherDay()) };
  const settings = { auto_renew: false };
  await call(till, token, random, (client) => client.patch(`/domains/${domain}/settings`, settings), expected);
}

/** Whether a day or more has passed since now, by the clock of the processes, which leaps. */
function dayAfter({ replicas }: Till): () => boolean {
  const begunAt = replicas.now().getTime();
  return () => replicas.now().getTime() - begunAt >= DAY_MS;
}

/** Somebody pays on a page, whose address is in the answer, or, where that was lost, in the list. Stripe closes a page after a day. */
async function topUp(till: Till, { random, token }: Customer, number: number): Promise<void> {
  const { replicas, stripe, tally } = till;
  const amount = random.integer(5, 60);
  await repeat(till, token, random, (client) =>
    client.post('/wallet/top-ups', { amount }, { 'idempotency-key': `top-up-${number}` }),
  );
  const listed = await call(till, token, random, (client) => client.get('/wallet/top-ups'));
  for (const { created_at: createdAt, state, url } of listed?.body.top_ups ?? []) {
    if (state !== 'open') continue;
    const session = stripe.sessions.get(sessionOf(stripe, url)) ?? assert.fail(`Stripe has no page ${url}`);
    if (session.status !== 'open') continue;
    const chance = random.next();
    const isOver = replicas.now().getTime() - Date.parse(createdAt) >= DAY_MS;
    if (chance < 0.1 || isOver) stripe.expireSession(session.id);
    if (chance < 0.2 || isOver) continue;
    stripe.paySession(session.id, { hasIntent: true });
    tally.paid += 1;
  }
}

/** Of anything that was paid; what the bank decides, Stripe tells once or twice, or later. Won, its owner has the wallet filled by the card again. */
async function dispute(till: Till, { random, token }: Customer): Promise<void> {
  const { stripe, tally } = till;
  const disputed = new Set([...stripe.disputes.values()].map(({ payment_intent }) => payment_intent));
  const paid = [...stripe.intents.values()].filter(({ id, status }) => status === 'succeeded' && !disputed.has(id));
  if (paid.length === 0) return;
  const { amount, id } = random.pick(paid);
  tally.disputes += 1;
  const made = stripe.dispute(id, amount);
  const times = random.integer(0, 2);
  await Promise.all(Array.from({ length: times }, () => tellDispute(till, random, made)));
  stripe.closeDispute(made.id, 'won');
  if (random.next() < 0.8) await tellDispute(till, random, made);
  await call(till, token, random, (client) => client.put('/wallet/auto-top-up', AUTO_TOP_UP));
}

/** As Stripe sends it; the answer. */
export function tellDispute(till: Till, random: Random, made: FakeDispute): Promise<Answer | undefined> {
  const { stripe, replicas } = till;
  const { body, headers } = stripe.signEvent('charge.dispute.closed', made, { at: replicas.now() });
  const send: Send = async (_client, url) => {
    const response = await fetch(`${url}/stripe/webhook`, { method: 'POST', body, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  return call(till, '', random, send, EXPECTED_OF_EVENTS);
}

/** It is declined from now on, or is not any more, and its owner switches the top-up on again. */
async function mistreatCard(till: Till, { card, random, token }: Customer): Promise<void> {
  if (card.behaviour === VISA) {
    card.behaviour = DECLINING;
    till.tally.declines += 1;
    return;
  }
  card.behaviour = VISA;
  await call(till, token, random, (client) => client.put('/wallet/auto-top-up', AUTO_TOP_UP));
}

function sessionOf(stripe: FakeStripe, pageUrl: string): string {
  const session = [...stripe.sessions.values()].find(({ url }) => url === pageUrl);
  return session?.id ?? assert.fail(`Stripe has no page ${pageUrl}`);
}

type Expected = Pick<ReadonlySet<string>, 'has'>;
type Send = (client: Client, url: string) => Promise<Answer>;

/** Undefined: the process died meanwhile, or none lives. */
async function call(
  till: Till,
  token: string,
  random: Random,
  send: Send,
  expected: Expected = EXPECTED,
): Promise<Answer | undefined> {
  const { replicas, tally } = till;
  const url = replicas.pick(random);
  if (url === undefined) {
    await wait(LOOK_MS);
    return undefined;
  }
  try {
    const answer = await send(createClient(url, token), url);
    const { details, error } = answer.body ?? {};
    const isExplained = expected.has(error) || (error === 'internal' && UNKNOWN.test(details?.message));
    if (answer.status >= 300 && !isExplained) tally.unexplained.push(`${answer.status} ${answer.text}`);
    return answer;
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    tally.cut += 1;
    return undefined;
  }
}

/** Under its key, some times, as callers do whose answer was lost; some give up. After a day the key is free, and it is another call. */
async function repeat(till: Till, token: string, random: Random, send: Send): Promise<Answer | undefined> {
  const { replicas } = till;
  const isAnotherCall = dayAfter(till);
  const expected: Expected = {
    has: (code) => EXPECTED.has(code) || (code === 'already_in_portfolio' && isAnotherCall()),
  };
  for (let attempt = 1; ; attempt += 1) {
    const answer = await call(till, token, random, send, expected);
    if (answer !== undefined || attempt === TRIES) return answer;
    while (replicas.pick(random) === undefined) await wait(LOOK_MS);
  }
}

/** Until it is carried out. */
async function must(till: Till, token: string, random: Random, send: Send): Promise<Answer> {
  for (let attempt = 0; attempt < PATIENCE; attempt += 1) {
    const answer = await call(till, token, random, send);
    if (answer !== undefined && answer.status < 300) return answer;
    await wait(LOOK_MS);
  }
  throw new Error('nobody carries it out');
}
