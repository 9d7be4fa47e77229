/**
 * Customers that buy, renew, transfer and delete names at whichever process lives, with a card or from the wallet. A call
 * whose outcome a customer does not learn is repeated under its Idempotency-Key until he does.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { toEuros } from '../../src/domains/prices/money.ts';
import { priceCents } from '../../src/domains/prices/price.ts';
import type { FakeStripe, StripeFault } from '../fakes/stripe-server.ts';
import { isConnectionLost } from '../support/http-client.ts';
import { type Answer, createClient } from '../support/platform.ts';
import { termsOf } from '../support/prices.ts';
import type { Random } from './seeded-random.ts';

export type CallKind = 'register' | 'renew' | 'transfer' | 'delete';

/** One order of a customer, and the last answer to it. */
export interface Call {
  readonly kind: CallKind;
  readonly key: string;
  readonly token: string;
  readonly name: string;
  readonly path: string;
  readonly body: Record<string, unknown> | undefined;
  /** Undefined until the outcome is answered. */
  answer?: Answer;
}

export interface Shop {
  /** The base URL of a process that lives; undefined while there is none. */
  pick(random: Random): string | undefined;
  /** The number of the next order, as soon as it may begin; undefined when there are enough. */
  next(): Promise<number | undefined>;
  /** Called for some orders before they are sent: what the registry is to do to the name. */
  harm(random: Random, call: Pick<Call, 'kind' | 'name'>): Promise<void>;
  readonly stripe: FakeStripe;
  /** How many names customers compete for. */
  readonly contested: number;
}

export interface Tally {
  /** Connections that were cut, by a kill. */
  cut: number;
  cardFaults: number;
  /** Answers that no failure of the outside explains. */
  readonly unexplained: string[];
}

const TLDS = ['com', 'net', 'eu'] as const;
const TRIES = 3;
const PAUSE_MS = { min: 40, max: 400 };
const SETTLE_MS = 150_000;
const FAULT_SHARE = 0.3;
const CARD_FAULTS: readonly StripeFault[] = ['drop_before', 'drop_after', 'fail', 'unavailable'];
const CARDS = [
  ...['pm_card_visa', 'pm_card_visa', 'pm_card_visa', 'spt_card_visa', 'spt_card_visa'],
  ...['pm_card_chargeDeclined', 'pm_card_chargeDeclinedExpiredCard', 'pm_card_authenticationRequired'],
  ...['pm_card_requiresAction', 'spt_card_chargeDeclined', 'pm_card_unknown'],
];

/** A customer with an account of his own, who orders until there are enough orders. His calls, some without an answer yet. */
export async function driveOrders(shop: Shop, random: Random, tally: Tally, customer: string): Promise<Call[]> {
  const token = await signUp(shop, random, customer);
  const calls: Call[] = [];
  for (let number = await shop.next(); number !== undefined; number = await shop.next()) {
    const call = plan(shop, random, { number, token, calls });
    calls.push(call);
    if (random.next() < FAULT_SHARE) await shop.harm(random, call);
    if (call.body !== undefined && random.next() < FAULT_SHARE && isPaidByCard(call)) {
      tally.cardFaults += 1;
      shop.stripe.failNext(random.pick(CARD_FAULTS));
    }
    // Two at once under one key are one order.
    const twins = random.next() < 0.1 ? 2 : 1;
    await Promise.all(Array.from({ length: twins }, () => attempt(shop, random.fork(), tally, call, TRIES)));
  }
  return calls;
}

/** Repeats what has no answer yet until it has one. */
export async function settleCalls(shop: Shop, random: Random, tally: Tally, calls: readonly Call[]): Promise<void> {
  const deadlineMs = performance.now() + SETTLE_MS;
  const open = calls.filter(({ answer }) => answer === undefined);
  await Promise.all(
    open.map(async (call) => {
      const own = random.fork();
      while (call.answer === undefined) {
        if (performance.now() > deadlineMs) throw new Error(`no outcome of ${call.kind} ${call.name}, ${call.key}`);
        await attempt(shop, own, tally, call, 1);
      }
    }),
  );
}

function isPaidByCard({ body = {} }: Call): boolean {
  return 'payment_method' in body || 'shared_payment_token' in body;
}

async function signUp(shop: Shop, random: Random, customer: string): Promise<string> {
  for (;;) {
    const url = shop.pick(random);
    if (url !== undefined) {
      // Another address each time: who was cut off has an account already, and no token.
      const email = `${customer}-${random.integer(0, 1e9)}@example.com`;
      const made = await createClient(url, '').post('/accounts', { email }).catch(ignoreCut);
      if (made?.status === 201) return made.body.token.token;
    }
    await wait(PAUSE_MS.max);
  }
}

interface Step {
  readonly number: number;
  readonly token: string;
  readonly calls: readonly Call[];
}

function plan(shop: Shop, random: Random, { number, token, calls }: Step): Call {
  const bought = calls.filter(
    ({ kind, answer }) => kind !== 'delete' && kind !== 'renew' && (answer?.status ?? 500) < 300,
  );
  const kind = random.pick<CallKind>(['register', 'register', 'register', 'renew', 'renew', 'transfer', 'delete']);
  const own = bought.length === 0 ? undefined : random.pick(bought).name;
  const place = { key: `order-${number}`, token };
  if (own !== undefined && kind === 'renew') {
    const years = random.integer(1, 3);
    const body = { duration: years, ...payment(random, priceCents(termsOf(tldOf(own)), 'renewal', years)) };
    return { ...place, kind, name: own, path: `/domains/${own}/renew`, body };
  }
  if (own !== undefined && kind === 'delete') {
    return { ...place, kind, name: own, path: `/domains/${own}`, body: undefined };
  }
  if (kind === 'transfer') {
    const label = random.pick(['quick-transfer', 'quick-transfer', 'quick-reject-transfer', 'locked']);
    const name = `${label}-${random.next() < 0.8 ? number : random.integer(0, shop.contested)}.com`;
    const price = priceCents(termsOf('com'), 'transfer', termsOf('com').transferYears);
    const auth_code = random.next() < 0.85 ? 'simulated-auth' : 'wrong';
    return { ...place, kind, name, path: `/domains/${name}/transfer`, body: { auth_code, ...payment(random, price) } };
  }
  const label = random.pick([
    ...['name', 'name', 'name', 'name', 'name', 'name'],
    ...['refuse', 'reject', 'reserved', 'taken', 'refuse-renew', 'reject-renew', 'contested', 'contested'],
  ]);
  const name = `${label}-${label === 'contested' ? random.integer(0, shop.contested) : number}.${random.pick(TLDS)}`;
  const years = random.integer(1, 3);
  const price = priceCents(termsOf(tldOf(name)), 'registration', years);
  const body = { domain: name, duration: years, ...payment(random, price) };
  return { ...place, kind: 'register', name, path: '/domains', body };
}

function payment(random: Random, cents: number): Record<string, unknown> {
  const confirm_price = toEuros(cents);
  if (random.next() < 0.5) return { confirm_price };
  const card = random.pick(CARDS);
  return { confirm_price, [card.startsWith('spt_') ? 'shared_payment_token' : 'payment_method']: card };
}

function tldOf(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

async function attempt(shop: Shop, random: Random, tally: Tally, call: Call, tries: number): Promise<void> {
  for (let count = 0; count < tries && call.answer === undefined; ) {
    if (count > 0 || tries === 1) await wait(random.integer(PAUSE_MS.min, PAUSE_MS.max));
    const url = shop.pick(random);
    if (url === undefined) {
      await wait(PAUSE_MS.max);
      continue;
    }
    count += 1;
    const answer = await send(url, call, tally);
    if (answer === undefined) continue;
    if (answer.status < 500) call.answer ??= answer;
    else if (!isExplained(answer)) tally.unexplained.push(`${call.kind} ${call.name}: ${answer.text}`);
  }
}

/** The outcome is not known, and the service says so. Everything else that it calls internal is a fault of its own. */
function isExplained({ body, status }: Answer): boolean {
  if (status === 503) return true;
  return /not known|does not answer|did not answer/.test(String(body?.details?.message));
}

async function send(url: string, { kind, path, body, key, token }: Call, tally: Tally): Promise<Answer | undefined> {
  const client = createClient(url, token);
  const headers = { 'idempotency-key': key };
  const answer = await (kind === 'delete' ? client.delete(path, headers) : client.post(path, body, headers)).catch(
    ignoreCut,
  );
  if (answer === undefined) tally.cut += 1;
  return answer;
}

function ignoreCut(error: unknown): undefined {
  if (isConnectionLost(error)) return undefined;
  throw error;
}
