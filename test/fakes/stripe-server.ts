/**
 * Stripe as far as both services use it: a real HTTP server on loopback that takes Stripe's form encoding and answers
 * its JSON, with its rules of `Idempotency-Key` (API v1): a key answers what it answered first, a 500 too, and refuses other
 * parameters; what fails validation is not kept; a key in use is a 409.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type Stripe from 'stripe';
import {
  disputeIntent,
  type FakeCard,
  type FakeDispute,
  type FakeRefund,
  moveDisputed,
  payOnPage,
  refundIntent,
  type StripeReply,
  type StripeState,
  saveOnPage,
  serveStripe,
} from './stripe-api.ts';

/**
 * drop_before: cut off before anything is done. drop_after: done, and cut off before the answer. fail: done and kept as a
 * 500. unavailable: a 503, nothing done. refuse: a 400, nothing done. hang: done, and never answered. wait: done with `letGo`, and its key is
 * in use until then.
 */
export type StripeFault = 'drop_before' | 'drop_after' | 'fail' | 'unavailable' | 'refuse' | 'hang' | 'wait';

export interface StripeRequest {
  readonly method: string;
  readonly path: string;
  readonly version: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly body: Readonly<Record<string, string>>;
}

export interface FakeStripe extends StripeState {
  readonly url: string;
  readonly secretKey: string;
  /** Of the endpoint that events are sent to. */
  readonly webhookSecret: string;
  readonly requests: readonly StripeRequest[];
  /** The next requests meet these, one each, whatever they ask. */
  failNext(...faults: readonly StripeFault[]): void;
  /** The next POST to this path with this member meets it. */
  failNextPost(path: string, member: string, fault: StripeFault): void;
  /** Does what waits. */
  letGo(): void;
  /** As a person at the checkout page. Without an intent `netCents` does not count it. */
  paySession(id: string, options?: { readonly hasIntent?: boolean }): void;
  expireSession(id: string): void;
  /** As a person who enters this test card on the page that saves one. */
  saveCard(sessionId: string, behaviour?: string): FakeCard;
  /** As the seller, at Stripe's own site. */
  refund(intentId: string, amountCents: number): FakeRefund;
  /** The card takes no refund after all. */
  failRefund(id: string): void;
  /** As the bank of the card's holder. An inquiry moves no money. */
  dispute(intentId: string, amountCents: number, options?: { readonly isInquiry?: boolean }): FakeDispute;
  closeDispute(id: string, status: 'won' | 'lost' | 'warning_closed'): void;
  /** An event as Stripe sends it: signed by its own package. */
  signEvent(type: string, object: object, options?: SigningOptions): SignedEvent;
  /** Whatever these bytes are. */
  signText(payload: string, options?: Omit<SigningOptions, 'id' | 'previous'>): SignedEvent;
  /** As a day later: those that it was given before this time of `performance.now()`. Default: all. */
  forgetKeys(givenBeforeMs?: number): void;
  /** What was charged and not given back. */
  netCents(): number;
  close(): Promise<void>;
}

export interface SigningOptions {
  readonly id?: string;
  /** Of an `….updated`: what has changed, as it was before. */
  readonly previous?: object;
  /** Default: the endpoint's. */
  readonly secret?: string;
  /** Default: now. */
  readonly at?: Date;
}

export interface SignedEvent {
  readonly body: string;
  readonly headers: Record<string, string>;
}

interface KeptAnswer {
  readonly givenAtMs: number;
  readonly fingerprint: string;
  readonly reply: StripeReply | undefined;
}

export async function startStripe(): Promise<FakeStripe> {
  const secretKey = `sk_test_${randomBytes(12).toString('hex')}`;
  const webhookSecret = `whsec_${randomBytes(24).toString('base64url')}`;
  const state: StripeState = {
    intents: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    sessions: new Map(),
    customers: new Map(),
    savedCards: new Map(),
  };
  const kept = new Map<string, KeptAnswer>();
  const requests: StripeRequest[] = [];
  const faults: StripeFault[] = [];
  const inUse = new Set<string>();
  const waiting: (() => void)[] = [];
  const faultsOfPosts: { readonly path: string; readonly member: string; readonly fault: StripeFault }[] = [];
  const takeFault = ({ body, method, path }: StripeRequest): StripeFault | undefined => {
    const index = faultsOfPosts.findIndex((one) => method === 'POST' && path === one.path && one.member in body);
    return index === -1 ? faults.shift() : faultsOfPosts.splice(index, 1)[0]?.fault;
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await readRequest(request);
    requests.push(asked);
    const fault = takeFault(asked);
    if (fault === 'drop_before') return void request.socket.destroy();
    if (fault === 'unavailable') return send(response, errorReply(503, { type: 'api_error' }));
    if (fault === 'refuse') return send(response, errorReply(400, { type: 'invalid_request_error' }));
    if (fault === 'wait') await untilLetGo(asked);
    const reply = answer(asked, request.headers.authorization, fault);
    if (fault === 'drop_after') return void request.socket.destroy();
    if (fault !== 'hang') send(response, reply);
  };

  const untilLetGo = async ({ idempotencyKey: key = '' }: StripeRequest): Promise<void> => {
    inUse.add(key);
    await new Promise<void>((resolve) => void waiting.push(resolve));
    inUse.delete(key);
  };

  const answer = (asked: StripeRequest, authorization: string | undefined, fault: StripeFault | undefined) => {
    if (authorization !== `Bearer ${secretKey}`) return errorReply(401, { type: 'invalid_request_error' });
    const { idempotencyKey: key } = asked;
    if (key === undefined || asked.method !== 'POST') return serveStripe(state, asked);
    if (inUse.has(key)) {
      const message = 'There is currently another in-progress request using this Idempotent Key.';
      return errorReply(409, { type: 'idempotency_error', code: 'idempotency_key_in_use', message });
    }
    const fingerprint = JSON.stringify([asked.path, asked.body]);
    const before = kept.get(key);
    if (before !== undefined && before.fingerprint !== fingerprint) {
      return errorReply(400, {
        type: 'idempotency_error',
        message: 'Keys for idempotent requests can only be used once.',
      });
    }
    if (before?.reply !== undefined) return before.reply;
    const done = serveStripe(state, asked);
    const reply = fault === 'fail' ? errorReply(500, { type: 'api_error', message: 'An error occurred.' }) : done;
    if (!done.isInvalid) kept.set(key, { givenAtMs: performance.now(), fingerprint, reply });
    return reply;
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      send(response, errorReply(500, { type: 'api_error', message: String(error) }));
    });
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake Stripe has no port');

  const setSession = (id: string, change: { status: string; payment_status?: string }) => {
    const session = state.sessions.get(id);
    if (session === undefined) throw new Error(`there is no checkout session ${id}`);
    return Object.assign(session, change);
  };
  const signText: FakeStripe['signText'] = (payload, { secret = webhookSecret, at } = {}) => {
    const timestamp = Math.floor((at?.getTime() ?? Date.now()) / 1_000);
    const signature = loadSigner().webhooks.generateTestHeaderString({ payload, secret, timestamp });
    return { body: payload, headers: { 'stripe-signature': signature } };
  };
  return {
    ...state,
    url: `http://127.0.0.1:${address.port}`,
    secretKey,
    webhookSecret,
    requests,
    failNext: (...next) => void faults.push(...next),
    failNextPost: (path, member, fault) => void faultsOfPosts.push({ path, member, fault }),
    paySession(id, { hasIntent } = {}) {
      const session = setSession(id, { status: 'complete', payment_status: 'paid' });
      // The domain service counts what was charged by its own intents alone.
      if (hasIntent ?? session.customer !== null) payOnPage(state, session);
    },
    expireSession: (id) => void setSession(id, { status: 'expired' }),
    saveCard: (id, behaviour = 'pm_card_visa') => saveOnPage(state, setSession(id, { status: 'complete' }), behaviour),
    refund: (intentId, amountCents) => refundIntent(state, intentId, amountCents),
    failRefund(id) {
      const refund = state.refunds.get(id);
      if (refund === undefined) throw new Error(`there is no refund ${id}`);
      refund.status = 'failed';
    },
    dispute: (intentId, amountCents, { isInquiry = false } = {}) =>
      disputeIntent(state, intentId, amountCents, isInquiry),
    closeDispute(id, status) {
      const dispute = state.disputes.get(id);
      if (dispute === undefined) throw new Error(`there is no dispute ${id}`);
      dispute.status = status;
      if (status === 'won') moveDisputed(dispute, 1);
    },
    letGo() {
      for (const resolve of waiting.splice(0)) resolve();
    },
    signEvent(type, object, { id = `evt_${randomBytes(12).toString('hex')}`, previous, ...options } = {}) {
      const data = { object, previous_attributes: previous };
      return signText(JSON.stringify({ id, object: 'event', type, data }), options);
    },
    signText,
    forgetKeys(givenBeforeMs = Number.POSITIVE_INFINITY) {
      for (const [key, { givenAtMs }] of kept) if (givenAtMs < givenBeforeMs) kept.delete(key);
    },
    netCents: () => {
      const charged = [...state.intents.values()].filter(({ status }) => status === 'succeeded');
      const given = [...state.refunds.values()].filter(({ status }) => status !== 'failed');
      const sum = (amounts: { amount: number }[]) => amounts.reduce((total, { amount }) => total + amount, 0);
      return sum(charged) - sum(given);
    },
    async close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Loaded by the few tests that send events: every test server has a Stripe. */
function loadSigner(): Stripe {
  const Signer = createRequire(import.meta.url)('stripe') as typeof Stripe;
  return new Signer('sk_test_signer');
}

async function readRequest(request: IncomingMessage): Promise<StripeRequest> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const key = request.headers['idempotency-key'];
  const version = request.headers['stripe-version'];
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    version: typeof version === 'string' ? version : undefined,
    idempotencyKey: typeof key === 'string' ? key : undefined,
    body: Object.fromEntries(new URLSearchParams(text)),
  };
}

function errorReply(status: number, error: Record<string, string>): StripeReply {
  return { status, body: { error }, isInvalid: true };
}

function send(response: ServerResponse, { status, body }: StripeReply): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_fake' });
  response.end(JSON.stringify(body));
}
