/**
 * Stripe as far as the domain service uses it: a real HTTP server on loopback that takes Stripe's form encoding and answers
 * its JSON, with its rules of `Idempotency-Key` (API v1): a key answers what it answered first, a 500 too, and refuses other
 * parameters; what fails validation is not kept; a key in use is a 409.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type StripeReply, type StripeState, serveStripe } from './stripe-api.ts';

/**
 * drop_before: cut off before anything is done. drop_after: done, and cut off before the answer. fail: done and kept as a
 * 500. unavailable: a 503, nothing done. hang: done, and never answered.
 */
export type StripeFault = 'drop_before' | 'drop_after' | 'fail' | 'unavailable' | 'hang';

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
  readonly requests: readonly StripeRequest[];
  /** The next requests meet these, one each, whatever they ask. */
  failNext(...faults: readonly StripeFault[]): void;
  /** As a person at the checkout page. */
  paySession(id: string): void;
  expireSession(id: string): void;
  /** As a day later. */
  forgetKeys(): void;
  /** What was charged and not given back. */
  netCents(): number;
  close(): Promise<void>;
}

interface KeptAnswer {
  readonly fingerprint: string;
  readonly reply: StripeReply | undefined;
}

export async function startStripe(): Promise<FakeStripe> {
  const secretKey = `sk_test_${randomBytes(12).toString('hex')}`;
  const state: StripeState = { intents: new Map(), refunds: new Map(), sessions: new Map() };
  const kept = new Map<string, KeptAnswer>();
  const requests: StripeRequest[] = [];
  const faults: StripeFault[] = [];

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await readRequest(request);
    requests.push(asked);
    const fault = faults.shift();
    if (fault === 'drop_before') return void request.socket.destroy();
    if (fault === 'unavailable') return send(response, errorReply(503, { type: 'api_error' }));
    const reply = answer(asked, request.headers.authorization, fault);
    if (fault === 'drop_after') return void request.socket.destroy();
    if (fault !== 'hang') send(response, reply);
  };

  const answer = (asked: StripeRequest, authorization: string | undefined, fault: StripeFault | undefined) => {
    if (authorization !== `Bearer ${secretKey}`) return errorReply(401, { type: 'invalid_request_error' });
    const { idempotencyKey: key } = asked;
    if (key === undefined || asked.method !== 'POST') return serveStripe(state, asked);
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
    if (!done.isInvalid) kept.set(key, { fingerprint, reply });
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
    Object.assign(session, change);
  };
  return {
    ...state,
    url: `http://127.0.0.1:${address.port}`,
    secretKey,
    requests,
    failNext: (...next) => void faults.push(...next),
    paySession: (id) => setSession(id, { status: 'complete', payment_status: 'paid' }),
    expireSession: (id) => setSession(id, { status: 'expired' }),
    forgetKeys: () => kept.clear(),
    netCents: () => {
      const charged = [...state.intents.values()].filter(({ status }) => status === 'succeeded');
      const sum = (amounts: { amount: number }[]) => amounts.reduce((total, { amount }) => total + amount, 0);
      return sum(charged) - sum([...state.refunds.values()]);
    },
    async close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
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
