/** What an organization does with its wallet while processes come and go: one call at a time, each by chance. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerProcess } from '../boot/server-process.ts';
import type { OpenAiUpstream } from '../fakes/openai-upstream.ts';
import type { FakeStripe, StripeFault } from '../fakes/stripe-server.ts';
import type { Answer, Client } from '../support/platform.ts';
import type { Fleet } from './fleet.ts';
import type { Random } from './seeded-random.ts';

export interface Tally {
  turns: number;
  refused: number;
  /** Calls whose answer was lost with a process. */
  cut: number;
  declined: number;
  stripeFaults: number;
  races: number;
  refunds: number;
  readonly unexplained: string[];
}

export interface Till {
  readonly stripe: FakeStripe;
  readonly upstream: OpenAiUpstream;
  readonly fleet: Fleet;
  readonly tally: Tally;
  readonly operations: number;
  begun: number;
  /** A process that lives. */
  pick(random: Random): ServerProcess | undefined;
}

const BILLING = '/v1/organization/billing';
const MODEL = 'openai/gpt-4o-mini';
const LOOK_MS = 20;
const CALLS_A_FAULT = 15;
const GOLDEN_RATIO = 0.6180339887;
const DECLINING = 'pm_card_chargeDeclined';
const FAULTS: readonly (readonly StripeFault[])[] = [
  ['drop_before', 'drop_before'],
  ['drop_after', 'drop_after'],
  ['unavailable'],
  ['fail'],
];
/** What a call may answer beside success: money is wanting, Stripe fails, a smith is busy with another call, the machine is. */
const EXPECTED = new Set(['insufficient_credits', 'stripe_error', 'conversation_locked', 'service_overloaded']);

/** Carries out the till's operations, some at a time. */
export async function driveWallet(till: Till, random: Random, clients: number): Promise<void> {
  const driver = new Driver(till, random);
  await driver.begin();
  const next = () => {
    till.begun += 1;
    return till.begun <= till.operations;
  };
  const smiths = await Promise.all(Array.from({ length: clients }, () => driver.createSmith()));
  await Promise.all(
    smiths.map(async (smith) => {
      const own = random.fork();
      while (next()) {
        const number = till.begun;
        while (till.pick(own) === undefined) await wait(LOOK_MS);
        await driver.act(own, smith, number);
      }
    }),
  );
}

class Driver {
  readonly #till: Till;
  readonly #random: Random;

  constructor(till: Till, random: Random) {
    this.#till = till;
    this.#random = random;
  }

  /** A card, something in the wallet, an automatic reload, and a model. */
  async begin(): Promise<void> {
    const { stripe, upstream } = this.#till;
    await this.#must((server) =>
      this.#till.fleet
        .project(server)
        .put('/v1/tenant/model_keys/openai', { api_key: 'sk-test', base_url: upstream.url }),
    );
    const setup = await this.#must((server) => this.#organization(server).post(`${BILLING}/setup`, RETURN));
    const session_id = sessionOf(setup);
    stripe.saveCard(session_id);
    await this.#must((server) => this.#organization(server).post(`${BILLING}/confirm`, { session_id }));
    await this.#must((server) =>
      this.#organization(server).put(`${BILLING}/autoreload`, {
        enabled: true,
        threshold_cents: 200,
        amount_cents: 500,
      }),
    );
  }

  async createSmith(): Promise<string> {
    const { body } = await this.#must((server) =>
      this.#till.fleet.project(server).post('/v1/smiths', { model: MODEL }),
    );
    return body.id;
  }

  /** Each kind has its share of any sequence of numbers: what is done in each is left to chance. */
  async act(random: Random, smith: string, number: number): Promise<void> {
    const { stripe, tally } = this.#till;
    if (number % CALLS_A_FAULT === 0) {
      stripe.failNext(...random.pick(FAULTS));
      tally.stripeFaults += 1;
    }
    const chance = (number * GOLDEN_RATIO) % 1;
    if (chance < 0.68) return this.#turn(random, smith);
    if (chance < 0.8) return this.#topUp(random);
    if (chance < 0.88) return this.#reload(random);
    if (chance < 0.96) return this.#refund(random);
    // The card declines, or it does not any more.
    const [card] = stripe.savedCards.values();
    if (card !== undefined) card.behaviour = random.next() < 0.5 ? DECLINING : 'pm_card_visa';
  }

  async #turn(random: Random, smith: string): Promise<void> {
    const input = [{ role: 'user', content: 'Hello' }];
    const answer = await this.#call(random, (server) =>
      this.#till.fleet.project(server).post(`/v1/smiths/${smith}/runs`, { input }),
    );
    if (answer?.status === 201) this.#till.tally.turns += 1;
    if (answer?.body.error?.code === 'insufficient_credits') this.#till.tally.refused += 1;
    // The run of a process that was killed is taken over after some seconds.
    if (answer?.body.error?.code === 'conversation_locked') await wait(LOOK_MS * 5);
  }

  /** Somebody pays on a page; the caller comes back while Stripe tells. */
  async #topUp(random: Random): Promise<void> {
    const { stripe, tally } = this.#till;
    const amount_cents = random.integer(100, 900);
    const opened = await this.#call(random, (server) =>
      this.#organization(server).post(`${BILLING}/checkout`, { ...RETURN, amount_cents }),
    );
    if (opened?.status !== 200) return;
    const session_id = sessionOf(opened);
    if (random.next() < 0.15) return stripe.expireSession(session_id);
    stripe.paySession(session_id);
    const session = stripe.sessions.get(session_id) ?? {};
    const confirm = () =>
      this.#call(random, (server) => this.#organization(server).post(`${BILLING}/confirm`, { session_id }));
    const tell = () => this.#tell(random, 'checkout.session.completed', session);
    tally.races += 1;
    await Promise.all(
      random.pick([[confirm(), tell()], [confirm(), tell(), confirm(), tell()], [tell()], [confirm()]]),
    );
  }

  async #reload(random: Random): Promise<void> {
    const headers = { 'idempotency-key': `reload-${random.integer(0, 1_000_000_000)}` };
    const amount_cents = random.integer(100, 700);
    const reload = () =>
      this.#call(random, (server) => this.#organization(server).post(`${BILLING}/reload`, { amount_cents }, headers));
    for (const answer of await Promise.all(random.next() < 0.3 ? [reload(), reload()] : [reload()])) {
      if (answer?.body.payment_status === 'declined') this.#till.tally.declined += 1;
    }
  }

  /** The seller gives some of a payment back. Stripe tells it at once, twice, or later. */
  async #refund(random: Random): Promise<void> {
    const { stripe, tally } = this.#till;
    const paid = [...stripe.intents.values()].filter(({ status }) => status === 'succeeded');
    if (paid.length === 0) return;
    const { id, amount, metadata } = random.pick(paid);
    const given = [...stripe.refunds.values()].filter((one) => one.payment_intent === id);
    const left = amount - given.reduce((sum, one) => sum + one.amount, 0);
    if (left <= 0) return;
    stripe.refund(id, random.integer(1, left));
    tally.refunds += 1;
    const times = random.integer(0, 2);
    const charge = { id: `ch_${id}`, payment_intent: id, metadata };
    await Promise.all(Array.from({ length: times }, () => this.#tell(random, 'charge.refunded', charge)));
  }

  async #tell(random: Random, type: string, object: object): Promise<void> {
    const { body, headers } = this.#till.stripe.signEvent(type, object);
    await this.#call(random, async (server) => {
      const response = await fetch(`${server.url}/v1/billing/stripe/webhook`, { method: 'POST', body, headers });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
    });
  }

  #organization(server: ServerProcess): Client {
    return this.#till.fleet.organization(server);
  }

  /** Undefined: the process died meanwhile, or none lives. */
  async #call(random: Random, send: (server: ServerProcess) => Promise<Answer>): Promise<Answer | undefined> {
    const { tally } = this.#till;
    const server = this.#till.pick(random);
    if (server === undefined) {
      await wait(LOOK_MS);
      return undefined;
    }
    try {
      const answer = await send(server);
      const code = answer.body?.error?.code;
      if (answer.status >= 300 && !EXPECTED.has(code)) tally.unexplained.push(`${answer.status} ${answer.text}`);
      return answer;
    } catch {
      tally.cut += 1;
      return undefined;
    }
  }

  /** Repeats the call until it is carried out. */
  async #must(send: (server: ServerProcess) => Promise<Answer>): Promise<Answer> {
    for (let attempt = 0; attempt < 500; attempt += 1) {
      const answer = await this.#call(this.#random, send);
      if (answer !== undefined && answer.status < 300) return answer;
      await wait(LOOK_MS);
    }
    throw new Error('nobody carries it out');
  }
}

const RETURN = { return_url: 'https://example.com/billing' };

function sessionOf({ body }: Answer): string {
  return new URL(body.url).pathname.split('/').at(-1) ?? '';
}
