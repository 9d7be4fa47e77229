/**
 * One connection to a server, by the protocol's own client: both revisions of the protocol, and HTTP with SSE where a server
 * knows nothing newer. What it found out about the server is kept with the registration, so that the next connection asks
 * nothing.
 */
import type {
  CallToolResult,
  Client,
  ElicitResult,
  PriorDiscovery,
  Tool,
  Transport,
} from '@modelcontextprotocol/client';
import { untilAborted } from '../../../kernel/cancellation/until-aborted.ts';
import { abortAfter, elapsedMs, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject, McpProtocol } from '../../tables.ts';
import { CallStream } from './call-stream.ts';
import { capFetch } from './capped-fetch.ts';
import { type Elicitation, readElicitation } from './elicitation.ts';
import { describeFailure, findStatus, type McpChallenge, McpFailure } from './failure.ts';
import type { McpLimits } from './limits.ts';
import { loadClient } from './load-client.ts';
import type { SuspendedCall } from './suspended-call.ts';
import { watchChallenges } from './watch-challenges.ts';

export interface McpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How the server was spoken to lately; null: to be found out. */
  readonly protocol: McpProtocol | null;
}

export interface McpClientDependencies {
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly limits: McpLimits;
}

/** A call, as it is sent. */
export interface McpToolCall {
  readonly name: string;
  readonly args: JsonObject;
  /** As it was listed: arguments that it wants as headers too are named there. */
  readonly inputSchema: JsonObject;
  readonly meta: JsonObject;
  /** What a person answered to what an earlier attempt asked: the newer revision's members of the request. */
  readonly input?: JsonObject;
  readonly signal: AbortSignal;
  /** The server of an older revision asks a person, by a stream that cannot be read on: the call waits for the answer. */
  readonly onElicit: Elicit;
}

export type Elicit = (asked: Elicitation) => Promise<{ action: 'accept' | 'decline' | 'cancel'; content?: JsonObject }>;

/** What a server of the newer revision needs before it can give the result. */
export interface InputRequired {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, { readonly method?: unknown; readonly params?: unknown }>>;
  readonly requestState?: string;
}

export interface McpConnection {
  readonly protocol: McpProtocol;
  /** Every page. Throws McpFailure. */
  listTools(signal: AbortSignal): Promise<Tool[]>;
  /**
   * Throws McpFailure, and the signal's reason. A call that is suspended has the connection closed, though not the session:
   * it is gone on with by `resumeCall`.
   */
  callTool(call: McpToolCall): Promise<CallToolResult | InputRequired | SuspendedCall>;
  /** Fires when nothing more can be asked of it. */
  readonly closed: AbortSignal;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** The server says that its tools have changed. */
  readonly onToolsChanged?: () => void;
  /** The limit of bytes is one of all answers together. */
  readonly together?: boolean;
}

const CLIENT = { name: 'ironcraft', version: '1' };
/** Between attempts to read on a stream that broke off. */
const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 3,
};
/** Statuses by which a server says that it knows no streamable HTTP (specification 2025-03-26, backwards compatibility). */
const TRY_SSE: ReadonlySet<unknown> = new Set([400, 404, 405]);

/** A call with all its questions; what the server itself may take is McpLimits'. */
const LONGEST_CALL_MS = 3_600_000;

/** Throws McpFailure, and the signal's reason. */
export async function connect(
  deps: McpClientDependencies,
  endpoint: McpEndpoint,
  options: ConnectOptions,
): Promise<McpConnection> {
  const deadline = abortAfter(deps.limits.connectMs);
  const signal = AbortSignal.any([options.signal, deadline]);
  try {
    return await connectByEither(deps, endpoint, { ...options, signal });
  } catch (error) {
    options.signal.throwIfAborted();
    if (deadline.aborted) throw new McpFailure('time', 'the server did not answer in time', { cause: error });
    throw describeFailure(error);
  }
}

async function connectByEither(
  deps: McpClientDependencies,
  endpoint: McpEndpoint,
  options: ConnectOptions,
): Promise<McpConnection> {
  const known = endpoint.protocol;
  if (known !== null) return Connection.open(deps, endpoint, known.transport, options);
  try {
    return await Connection.open(deps, endpoint, 'streamable_http', options);
  } catch (error) {
    if (!TRY_SSE.has(findStatus(error))) throw error;
    return await Connection.open(deps, endpoint, 'sse', options).catch(() => {
      // What the newer transport said is what a server of today means.
      throw error;
    });
  }
}

class Connection implements McpConnection {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #limits: McpLimits;
  readonly #kind: McpProtocol['transport'];
  readonly #closing = new AbortController();
  /** Why it was ended from here. */
  #failure: McpFailure | undefined;
  /** How the server refused who calls, the last time. */
  #challenge: McpChallenge | undefined;
  /** Of the call under way: a connection makes one at a time. */
  #onElicit: Elicit | undefined;
  #onSuspend: ((call: SuspendedCall) => void) | undefined;
  #stream: CallStream | undefined;

  private constructor(client: Client, transport: Transport, kind: McpProtocol['transport'], limits: McpLimits) {
    this.#client = client;
    this.#transport = transport;
    this.#kind = kind;
    this.#limits = limits;
    client.onclose = () => this.#closing.abort();
    // Each request tells its own failure; what is left concerns streams that nobody waits for.
    client.onerror = () => {};
  }

  static async open(
    deps: McpClientDependencies,
    endpoint: McpEndpoint,
    kind: McpProtocol['transport'],
    { signal, onToolsChanged, together = false }: ConnectOptions,
  ): Promise<Connection> {
    const sdk = await loadClient();
    signal.throwIfAborted();
    let connection: Connection | undefined;
    const capped = capFetch(deps.outbound.fetch('public', { httpsOnly: true }), {
      answerBytes: deps.limits.answerBytes,
      together,
      onTooLarge: (error) => connection?.fail(describeFailure(error)),
    });
    const fetch = watchChallenges(capped, sdk.extractWWWAuthenticateParams, (challenge) => {
      if (connection !== undefined) connection.#challenge = challenge;
    });
    const requestInit = { headers: endpoint.headers };
    const url = new URL(endpoint.url);
    const transport =
      kind === 'sse'
        ? new sdk.SSEClientTransport(url, { requestInit, fetch })
        : new sdk.StreamableHTTPClientTransport(url, { requestInit, fetch, reconnectionOptions: RECONNECTION });
    const client = new sdk.Client(CLIENT, {
      capabilities: { elicitation: { form: {} } },
      // A question is answered later, perhaps by another replica.
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: kind === 'sse' ? 'legacy' : 'auto' },
      listMaxPages: deps.limits.listPages,
      // Results are not checked by schemas of the server: those would be compiled in this process.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    });
    connection = new Connection(client, transport, kind, deps.limits);
    if (onToolsChanged !== undefined) {
      client.setNotificationHandler('notifications/tools/list_changed', async () => onToolsChanged());
    }
    const opened = connection;
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const answer = await opened.#elicit(params, mcpReq.id);
      return answer as ElicitResult;
    });
    const prior = endpoint.protocol?.prior as PriorDiscovery | undefined;
    await connection.#start(signal, kind === 'sse' ? undefined : prior);
    if (kind !== 'sse' && client.getProtocolEra() !== 'modern') connection.#stream = new CallStream(transport);
    if (onToolsChanged !== undefined) connection.#listen();
    return connection;
  }

  async #start(signal: AbortSignal, prior: PriorDiscovery | undefined): Promise<void> {
    const { connectMs: timeout } = this.#limits;
    const starting = this.#client.connect(this.#transport, {
      timeout,
      signal,
      ...(prior === undefined ? {} : { prior }),
    });
    try {
      await untilAborted(starting, signal);
    } catch (error) {
      await this.close();
      throw this.#failure ?? describeFailure(error, false, this.#challenge);
    }
  }

  /** Has a server of the newer revision tell of changes; one of the older tells without being asked. */
  #listen(): void {
    if (this.#client.getProtocolEra() !== 'modern') return;
    if (this.#client.getServerCapabilities()?.tools?.listChanged !== true) return;
    this.#client.listen({ toolsListChanged: true }).catch(() => {});
  }

  get protocol(): McpProtocol {
    const discover = this.#client.getDiscoverResult();
    const prior =
      discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover: discover as unknown as JsonObject };
    return { transport: this.#kind, prior };
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  async listTools(signal: AbortSignal): Promise<Tool[]> {
    const { listMs, listPages } = this.#limits;
    const deadline = abortAfter(listMs);
    const either = AbortSignal.any([signal, deadline, this.#closing.signal]);
    try {
      const { tools } = await untilAborted(
        this.#client.listTools(undefined, { timeout: listMs, signal: either, cacheMode: 'bypass' }),
        either,
      );
      return tools;
    } catch (error) {
      signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      if (deadline.aborted) throw new McpFailure('time', `the list of tools did not end within ${listMs / 1_000} s`);
      if ((error as { code?: unknown }).code === 'LIST_PAGINATION_EXCEEDED') {
        throw new McpFailure('protocol', `the list of tools has more than ${listPages} pages`);
      }
      throw describeFailure(error, false, this.#challenge);
    }
  }

  async callTool(call: McpToolCall): Promise<CallToolResult | InputRequired | SuspendedCall> {
    const { name, args, inputSchema, meta, input = {}, signal } = call;
    const hasSession = this.#transport.sessionId !== undefined;
    const deadline = new Deadline(this.#limits.callMs);
    // The server waits for a person, not the person for the server.
    this.#onElicit = (asked) => deadline.suspend(() => call.onElicit(asked));
    const suspended = Promise.withResolvers<SuspendedCall>();
    this.#onSuspend = suspended.resolve;
    const either = AbortSignal.any([signal, deadline.signal, this.#closing.signal]);
    try {
      const calling = this.#client.callTool(
        { name, arguments: args, _meta: meta, ...input },
        {
          timeout: LONGEST_CALL_MS,
          signal: either,
          allowInputRequired: true,
          toolDefinition: { name, inputSchema: inputSchema as Tool['inputSchema'] },
          ...(this.#stream === undefined ? {} : { onresumptiontoken: this.#stream.onEvent }),
        },
      );
      const answered = untilAborted(calling, either) as Promise<CallToolResult | InputRequired>;
      return await Promise.race([suspended.promise, answered]);
    } catch (error) {
      signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      if (deadline.signal.aborted) {
        throw new McpFailure('time', `the call did not end within ${this.#limits.callMs / 1_000} s`);
      }
      throw describeFailure(error, hasSession, this.#challenge);
    } finally {
      deadline.clear();
      this.#onElicit = undefined;
      this.#onSuspend = undefined;
    }
  }

  async #elicit(params: unknown, questionId: string | number): ReturnType<Elicit> {
    const asked = readElicitation(params);
    if (this.#onElicit === undefined || asked === undefined) return { action: 'decline' };
    const session = this.#sessionOf(questionId);
    if (session === undefined) return this.#onElicit(asked);
    this.#onSuspend?.({ resultType: 'suspended', asked, session });
    // Neither the session ends with it, nor the call: a stream that is let go is none that is given up.
    await this.#transport.close();
    // Nobody is sent this any more.
    return { action: 'cancel' };
  }

  /** Undefined: the call cannot be gone on with elsewhere. */
  #sessionOf(questionId: string | number): SuspendedCall['session'] | undefined {
    const place = this.#stream?.placeOf(questionId);
    const { sessionId } = this.#transport;
    const protocolVersion = this.#client.getNegotiatedProtocolVersion();
    if (place === undefined || sessionId === undefined || protocolVersion === undefined) return undefined;
    return { ...place, questionId, sessionId, protocolVersion };
  }

  fail(failure: McpFailure): void {
    this.#failure ??= failure;
    void this.close();
  }

  async close(): Promise<void> {
    const isOpen = !this.#closing.signal.aborted;
    this.#closing.abort();
    // A call that was cut off is cancelled by its id, in the session that ends next.
    if (isOpen && this.#stream !== undefined)
      await untilAborted(this.#stream.cancelled, abortAfter(1_000)).catch(() => {});
    const transport = this.#transport as { terminateSession?: () => Promise<void> };
    // A server may never answer this.
    await untilAborted(transport.terminateSession?.() ?? Promise.resolve(), abortAfter(1_000)).catch(() => {});
    await this.#client.close().catch(() => {});
  }
}

/** A time that stands still while somebody else is waited for. */
class Deadline {
  readonly #controller = new AbortController();
  #leftMs: number;
  #since = elapsedMs();
  #timer: Timer;

  constructor(leftMs: number) {
    this.#leftMs = leftMs;
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async suspend<T>(work: () => Promise<T>): Promise<T> {
    this.clear();
    this.#leftMs = Math.max(0, this.#leftMs - (elapsedMs() - this.#since));
    try {
      return await work();
    } finally {
      this.#since = elapsedMs();
      this.#timer = this.#start();
    }
  }

  clear(): void {
    this.#timer.cancel();
  }

  #start(): Timer {
    return setTimer(() => this.#controller.abort(), this.#leftMs);
  }
}
