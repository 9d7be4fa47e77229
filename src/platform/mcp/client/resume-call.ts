/**
 * Goes on with a call whose stream was let go while a person was asked (revision 2025-11-25, transports: resumability): posts
 * the answer in the session of the call, and reads the call's stream on by `Last-Event-ID` until its result comes. Any
 * replica can, any number of times: an answer that came before is one to no question, and events are sent again.
 */
import type { CallToolResult, JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { untilAborted } from '../../../kernel/cancellation/until-aborted.ts';
import { abortAfter, sleep } from '../../../kernel/clock/timers.ts';
import type { JsonObject } from '../../tables.ts';
import { capFetch } from './capped-fetch.ts';
import type { McpClientDependencies, McpEndpoint } from './connection.ts';
import { type Elicitation, readElicitation } from './elicitation.ts';
import { describeFailure, findStatus, McpFailure } from './failure.ts';
import { loadClient } from './load-client.ts';
import type { SuspendedCall, SuspendedSession } from './suspended-call.ts';

type Client = Awaited<ReturnType<typeof loadClient>>;

/** A server need not send on a stream that is read on what comes later: it is asked again after these times, the last for ever. */
const READ_AGAIN_MS = [1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** Between attempts to reach a server. */
const RETRY_MS = 1_000;
/** Answers by which a server says that there is nothing to read on any more. */
const GONE: ReadonlySet<unknown> = new Set([400, 404, 405, 410]);
/** A server may never answer. */
const END_MS = 5_000;

const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 3,
};

export interface Resumption {
  readonly session: SuspendedSession;
  readonly answer: { readonly action: string; readonly content?: JsonObject };
  /** The answer may have been posted before. */
  readonly wasBegun: boolean;
  readonly signal: AbortSignal;
}

/** Throws McpFailure, and the signal's reason. */
export async function resumeCall(
  deps: McpClientDependencies,
  endpoint: McpEndpoint,
  resumption: Resumption,
): Promise<CallToolResult | SuspendedCall> {
  const sdk = await loadClient();
  const deadline = abortAfter(deps.limits.callMs);
  const either = AbortSignal.any([resumption.signal, deadline]);
  const call = new ResumedCall(sdk, deps, endpoint, { ...resumption, signal: either });
  try {
    await call.postAnswer();
    return await call.readOn();
  } catch (error) {
    resumption.signal.throwIfAborted();
    if (deadline.aborted) {
      throw new McpFailure('time', `the call did not end within ${deps.limits.callMs / 1_000} s after the answer`);
    }
    throw error;
  } finally {
    call.close();
  }
}

/** Tells the server that nobody waits for the call any more, unless it has its end, and ends the session. As far as it listens. */
export async function endSession(
  deps: McpClientDependencies,
  endpoint: McpEndpoint,
  session: SuspendedSession,
  { cancels }: { readonly cancels: boolean },
): Promise<void> {
  const sdk = await loadClient();
  const transport = openTransport(sdk, deps, endpoint, session);
  const deadline = abortAfter(END_MS);
  try {
    await transport.start();
    const params = { requestId: session.callId, reason: 'The run has ended.' };
    if (cancels) {
      const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params } as const;
      await untilAborted(transport.send(message), deadline);
    }
    await untilAborted(transport.terminateSession(), deadline);
  } catch (error) {
    throw describeFailure(error);
  } finally {
    await transport.close();
  }
}

function openTransport(
  sdk: Client,
  { outbound, limits }: McpClientDependencies,
  { url, headers }: McpEndpoint,
  { sessionId, protocolVersion }: SuspendedSession,
  onTooLarge: (error: Error) => void = () => {},
): StreamableHTTPClientTransport {
  const fetch = capFetch(outbound.fetch('public', { httpsOnly: true }), {
    answerBytes: limits.answerBytes,
    onTooLarge,
  });
  const reading = { sessionId, protocolVersion, reconnectionOptions: RECONNECTION };
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch,
    ...reading,
  });
  // What fails is told where it is waited for, or comes again with the next reading.
  transport.onerror = () => {};
  return transport;
}

class ResumedCall {
  readonly #sdk: Client;
  readonly #open: () => StreamableHTTPClientTransport;
  readonly #resumption: Resumption;
  readonly #outcome = Promise.withResolvers<CallToolResult | SuspendedCall>();
  #lastEventId: string;
  /** The message that is delivered came as an event with an id. */
  #isEvent = false;
  #transport: StreamableHTTPClientTransport | undefined;

  constructor(sdk: Client, deps: McpClientDependencies, endpoint: McpEndpoint, resumption: Resumption) {
    this.#sdk = sdk;
    this.#resumption = resumption;
    this.#lastEventId = resumption.session.lastEventId;
    this.#open = () =>
      openTransport(sdk, deps, endpoint, resumption.session, (error) => this.#outcome.reject(describeFailure(error)));
    // Until it is waited for.
    this.#outcome.promise.catch(() => {});
  }

  async postAnswer(): Promise<void> {
    const { session, answer, wasBegun, signal } = this.#resumption;
    const message = { jsonrpc: '2.0', id: session.questionId, result: { ...answer } } as const;
    for (;;) {
      const transport = await this.#connect();
      try {
        return await untilAborted(transport.send(message), signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = describeSessionFailure(error);
        // A server that has the answer may refuse it.
        if (failure.kind === 'protocol' && wasBegun) return;
        if (failure.kind !== 'connect') throw failure;
        await sleep(RETRY_MS, signal);
      }
    }
  }

  async readOn(): Promise<CallToolResult | SuspendedCall> {
    const { signal } = this.#resumption;
    for (let attempt = 0; ; attempt += 1) {
      const transport = await this.#connect();
      const reading = transport.resumeStream(this.#lastEventId, { onresumptiontoken: (id) => this.#noteEvent(id) });
      const again = new AbortController();
      const patience = sleep(READ_AGAIN_MS[Math.min(attempt, READ_AGAIN_MS.length - 1)] ?? 0, again.signal).catch(
        () => {},
      );
      try {
        await untilAborted(Promise.race([reading, this.#outcome.promise]), signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof McpFailure) throw error;
          const failure = describeSessionFailure(error);
          if (failure.kind === 'auth' || GONE.has(findStatus(error))) throw failure;
        });
        const outcome = await untilAborted(Promise.race([this.#outcome.promise, patience]), signal);
        if (outcome !== undefined) return outcome;
      } finally {
        again.abort();
      }
    }
  }

  close(): void {
    void this.#transport?.close();
  }

  /** A connection of its own for each attempt: what an earlier one left open is closed. */
  async #connect(): Promise<StreamableHTTPClientTransport> {
    this.close();
    const transport = this.#open();
    this.#transport = transport;
    transport.onmessage = (message) => this.#read(transport, message);
    await transport.start();
    return transport;
  }

  #noteEvent(id: string): void {
    this.#lastEventId = id;
    this.#isEvent = true;
    queueMicrotask(() => {
      this.#isEvent = false;
    });
  }

  #read(transport: StreamableHTTPClientTransport, message: JSONRPCMessage): void {
    if (!('method' in message)) {
      if (message.id === this.#resumption.session.callId) this.#end(message);
    } else if ('id' in message) {
      const asked = message.method === 'elicitation/create' ? readElicitation(message.params) : undefined;
      if (asked !== undefined && this.#isEvent) this.#ask(message.id, asked);
      else void transport.send({ jsonrpc: '2.0', id: message.id, ...answerTo(message.method) }).catch(() => {});
    }
  }

  #ask(questionId: string | number, asked: Elicitation): void {
    const { session } = this.#resumption;
    // The question that was answered may be sent again.
    if (questionId === session.questionId) return;
    const next = { ...session, questionId, lastEventId: this.#lastEventId };
    this.#outcome.resolve({ resultType: 'suspended', asked, session: next });
  }

  #end(message: Exclude<JSONRPCMessage, { method: string }>): void {
    if ('error' in message) {
      const { code, message: words, data } = message.error;
      this.#outcome.reject(describeFailure(this.#sdk.ProtocolError.fromError(code, words, data)));
    } else if (this.#sdk.isCallToolResult(message.result)) this.#outcome.resolve(message.result);
    else this.#outcome.reject(new McpFailure('protocol', 'the server answered with something that is no result'));
  }
}

/** What a client without the matter answers. */
function answerTo(
  method: string,
): { readonly result: JsonObject } | { readonly error: { code: number; message: string } } {
  if (method === 'ping') return { result: {} };
  if (method === 'elicitation/create') return { result: { action: 'decline' } };
  return { error: { code: -32_601, message: 'Method not found' } };
}

/** The call itself has been received: whatever becomes of its session, it is not made again. */
function describeSessionFailure(error: unknown): McpFailure {
  if (findStatus(error) === 404) {
    return new McpFailure('protocol', 'the session in which the question was asked has ended', { cause: error });
  }
  const { kind, message, cause } = describeFailure(error);
  return new McpFailure(kind, message, { cause });
}
