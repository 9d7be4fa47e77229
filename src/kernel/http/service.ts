/**
 * A service over HTTP: operations in, a Fastify instance out. Every operation gets, in this order and with no code of
 * its own: request id → CORS → API version → load shedding → token (who has no good one takes from the address's
 * budget) → posture → scope → budget of the owner → body (size-capped) → validation → Idempotency-Key → handler →
 * reply. A refusal by posture or scope happens before the body is read.
 */
import { randomUUID } from 'node:crypto';
import underPressure from '@fastify/under-pressure';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify';
import type { TSchema } from 'typebox';
import type { TrustProxy } from '../config/parse-value.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { answerBrokenRequest } from './broken-request.ts';
import { ApiError, type ErrorCatalogue, errorBody } from './errors.ts';
import { EventStream, serveEventStream } from './event-stream.ts';
import { canonicalJson, type IdempotencyStore, readClaim } from './idempotency.ts';
import { acceptJsonOnly } from './json-body.ts';
import { documentOperations, routeSchema } from './openapi.ts';
import { HttpReply, type IdempotencyClaim, type Operation, type OperationFacts } from './operation.ts';
import { addressKey, createMeter, type Meter, type Quota, quotaHeaders } from './rate-limit.ts';
import { componentOf } from './schema.ts';
import { createSerializers } from './serialization.ts';
import { createValidators, type RequestPart, refusalOf } from './validation.ts';

/** Who may call what: the service gives the posture and scope words of its operations their meaning. */
export interface Gate<Caller> {
  /** Throws the refusal of a missing, malformed, expired or revoked token. */
  authenticate(authorization: string | undefined): Promise<Caller>;
  /** Throws the refusal by posture, scope or subject. Sees the path, never the body. */
  authorize(operation: OperationFacts, caller: Caller, params: Readonly<Record<string, string>>): void;
  /** The codes that `authorize` may refuse the operation with, for its description. */
  refusalsOf(operation: OperationFacts): readonly string[];
  /** Whose request budget the call is taken from. */
  meterKey(caller: Caller): string;
}

export interface ServiceOptions<Caller> {
  readonly name: string;
  readonly title: string;
  /** Version in the OpenAPI document. */
  readonly version: string;
  readonly description: string;
  readonly errors: ErrorCatalogue;
  /** The gate lets each operation see only callers of the kind that it is defined for. */
  readonly operations: readonly Operation<never>[];
  readonly gate: Gate<Caller>;
  readonly idempotency: IdempotencyStore<Caller>;
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly publicUrl: string;
  readonly apiVersion: { readonly header: string; readonly live: readonly string[] };
  /** Prefix of the paths that browsers of any origin may call. */
  readonly corsPrefix: string;
  readonly requestsPerMinute: number;
  readonly addressRequestsPerMinute: number;
  readonly bodyLimitBytes: number;
  readonly trustProxy: TrustProxy;
  /** Event-loop delay at which new requests are refused with `service_overloaded`. */
  readonly overloadDelayMs?: number;
}

/** What the hooks learn about a request before its handler runs. */
interface RequestState {
  caller: unknown;
  operation: Operation<unknown> | undefined;
  headers: Record<string, string>;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
  }
  interface FastifyContextConfig {
    operation?: Operation<unknown>;
  }
}

export const DEFAULT_OVERLOAD_DELAY_MS = 1_000;
/** Node takes no longer header block (`maxHeaderSize`). */
const MAX_URL_LENGTH = 16_384;
/** How often the event loop's delay is measured. */
const DELAY_SAMPLE_MS = 250;

/** Builds the server; it does not listen yet. */
export async function createService<Caller>(options: ServiceOptions<Caller>): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    // onResponse writes one line a request instead (countRequests).
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimitBytes,
    trustProxy: options.trustProxy,
    requestIdHeader: false,
    genReqId: readRequestId,
    forceCloseConnections: 'idle',
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, options.errors),
    // As long as a URL can be: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: MAX_URL_LENGTH, ignoreTrailingSlash: false },
    rewriteUrl: ({ url = '/' }) => takePercentSignsLiterally(url),
    // Prototype-named members are refused with a clear error rather than dropped.
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    // Empty bodies are a matter for validation.
    ajv: { customOptions: { strict: false } },
  });
  const components = collectComponents(options.operations);
  for (const [name, schema] of components) app.addSchema({ ...schema, $id: name });
  const validators = createValidators(components);
  app.setSerializerCompiler(createSerializers(components));
  app.setValidatorCompiler(({ schema, httpPart }) => validators.compile(httpPart as RequestPart, schema as TSchema));

  const meters: Meters = {
    owner: createMeter('project', options.requestsPerMinute),
    address: createMeter('address', options.addressRequestsPerMinute),
  };

  app.decorateRequest('state', null as never);
  acceptJsonOnly(app);
  countRequests(app, options.metrics);
  app.addHook('onRequest', async (request, reply) => {
    const operation = request.routeOptions.config.operation;
    request.state = { caller: undefined, operation, headers: {} };
    setHeader(request, reply, 'x-request-id', request.id);
    if (request.url.startsWith(options.corsPrefix)) allowAnyOrigin(request, reply);
    checkApiVersion(request, reply, options.apiVersion);
  });
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS' && request.url.startsWith(options.corsPrefix)) {
      await showQuota(request, reply, options, meters);
      return reply.code(204).send();
    }
  });
  // Starting blocks the loop, and the monitor tells of it until its next interval ends: no reason to refuse the first callers.
  let settledAtMs = 0;
  app.addHook('onListen', async () => {
    settledAtMs = performance.now() + 2 * DELAY_SAMPLE_MS;
  });
  await app.register(underPressure, {
    maxEventLoopDelay: options.overloadDelayMs ?? DEFAULT_OVERLOAD_DELAY_MS,
    sampleInterval: DELAY_SAMPLE_MS,
    pressureHandler(request, _reply, _type, value) {
      // Infinity: the monitor took no sample in its last interval, as after one block of the whole interval.
      if (value === Number.POSITIVE_INFINITY || performance.now() < settledAtMs) return;
      if (request.routeOptions.config.operation === undefined) return;
      throw new ApiError('service_overloaded', { retryAfterSeconds: 2 });
    },
  });
  app.addHook('onRequest', (request, reply) => checkCaller(request, reply, options, meters));

  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    await showQuota(request, reply, options, meters);
    const refusal = toApiError(error, options.bodyLimitBytes);
    const code = Object.hasOwn(options.errors, refusal.code) ? refusal.code : 'internal_error';
    const entry = options.errors[code];
    const status = entry?.status ?? 500;
    if (status >= 500 && refusal.code !== 'service_overloaded') {
      request.log.error(
        { err: refusal.detail.cause ?? error, code: refusal.code, requestId: request.id },
        'request failed',
      );
    }
    for (const [name, value] of Object.entries(refusal.detail.headers ?? {})) setHeader(request, reply, name, value);
    if (refusal.detail.retryAfterSeconds !== undefined) {
      setHeader(request, reply, 'retry-after', String(Math.ceil(refusal.detail.retryAfterSeconds)));
    }
    if (status === 401) setHeader(request, reply, 'www-authenticate', `Bearer realm="${options.name}"`);
    return reply
      .code(status)
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send(errorBody(options.errors, code, refusal));
  });
  app.setNotFoundHandler(() => {
    throw new ApiError('not_found', { message: 'No such route. The routes are listed at /openapi.json and /docs.' });
  });

  await documentOperations(app, options);
  await app.register(async (routes) => {
    for (const operation of options.operations) mount(routes, operation as unknown as Operation<Caller>, options);
  });
  return app;
}

interface Meters {
  readonly owner: Meter;
  readonly address: Meter;
}

/**
 * Throws the refusal by token, posture, scope or budget. Only callers who prove nobody take from their address's
 * budget, so a good token is never kept out by what others behind the same address do.
 */
async function checkCaller<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServiceOptions<Caller>,
  meters: Meters,
): Promise<void> {
  const operation = request.state.operation as Operation<Caller> | undefined;
  const takeFromAddress = async () => setQuota(request, reply, await meters.address.take(addressKey(request.ip)));
  if (operation === undefined) {
    if (request.url.startsWith(options.corsPrefix)) await takeFromAddress();
    return;
  }
  if (operation.posture === 'public') return takeFromAddress();
  let caller: Caller;
  try {
    caller = await options.gate.authenticate(request.headers.authorization);
  } catch (refusal) {
    await takeFromAddress();
    throw refusal;
  }
  request.state.caller = caller;
  options.gate.authorize(operation, caller, request.params as Record<string, string>);
  setQuota(request, reply, await meters.owner.take(options.gate.meterKey(caller)));
}

/** Shows what is left of the caller's budget on an answer that took nothing from it. */
async function showQuota<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServiceOptions<Caller>,
  meters: Meters,
): Promise<void> {
  const { caller, headers } = request.state;
  if ('ratelimit' in headers) return;
  const quota =
    caller === undefined
      ? meters.address.look(addressKey(request.ip))
      : meters.owner.look(options.gate.meterKey(caller as Caller));
  setQuota(request, reply, await quota);
}

function mount<Caller>(app: FastifyInstance, operation: Operation<Caller>, options: ServiceOptions<Caller>): void {
  const route = {
    method: operation.method,
    url: fastifyPath(operation.path),
    config: { operation: operation as Operation<unknown> },
    schema: routeSchema(operation as Operation<unknown>, options.errors, options.gate.refusalsOf(operation)),
    // No body says as much as an empty one; the validation then names what is missing.
    preValidation: async (request: FastifyRequest) => {
      if (operation.body !== undefined && request.body === undefined) request.body = {};
    },
    handler: (request: FastifyRequest, reply: FastifyReply) => run(request, reply, operation, options),
  };
  app.route(route);
  if (operation.restOfPath === true) mountRestOfPath(app, route);
}

/** The router ends a parameter at a slash: an id with one is caught by a wildcard, which the documentation leaves out. */
function mountRestOfPath(app: FastifyInstance, route: RouteOptions): void {
  const [, prefix = '', name = ''] = /^(.*):(\w+)$/.exec(route.url) ?? [];
  app.route({
    ...route,
    url: `${prefix}*`,
    schema: { ...route.schema, hide: true },
    onRequest: async (request) => {
      request.params = { [name]: (request.params as { '*': string })['*'] };
    },
  });
}

async function run<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: ServiceOptions<Caller>,
): Promise<unknown> {
  const claim = operation.idempotent
    ? readClaim(operation.id, request.headers['idempotency-key'], request.url, request.body)
    : undefined;
  const handle = (tx: Transaction | undefined, idempotency: IdempotencyClaim | undefined) =>
    operation.handle({
      caller: request.state.caller as Caller,
      requestId: request.id,
      headers: request.headers,
      log: request.log as never,
      get signal() {
        return closeSignal(reply);
      },
      params: request.params,
      query: request.query,
      body: request.body ?? undefined,
      db: options.db,
      tx,
      idempotency,
    });
  if (operation.kind !== 'change') return answer(request, reply, operation, await handle(undefined, claim));

  const result = await options.db.transaction(async (tx) => {
    if (claim === undefined) return { value: await handle(tx, undefined) };
    const caller = request.state.caller as Caller;
    const stored = await options.idempotency.claim(tx, caller, claim);
    if (stored !== undefined) return { replay: stored };
    const value = await handle(tx, claim);
    const status = value instanceof HttpReply ? value.status : usualStatus(operation);
    const body = value instanceof HttpReply ? value.body : value;
    await options.idempotency.complete(tx, caller, claim, {
      status,
      body: body === undefined ? '' : serializeBody(reply, status, body),
    });
    return { value };
  });
  if (result.replay !== undefined) {
    setHeader(request, reply, 'idempotent-replay', 'true');
    reply.code(result.replay.status).type('application/json; charset=utf-8');
    return reply.serializer((text: unknown) => String(text)).send(result.replay.body);
  }
  return answer(request, reply, operation, result.value);
}

/** The reply's JSON as the schema shapes it: what is stored for replay is what was sent. */
function serializeBody(reply: FastifyReply, status: number, body: unknown): string {
  return String(reply.serializeInput(body as Record<string, unknown>, String(status), 'application/json'));
}

async function answer<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  value: unknown,
): Promise<unknown> {
  if (value instanceof EventStream) {
    reply.hijack();
    await serveEventStream(reply.raw, value, request.state.headers).catch((error: unknown) => {
      request.log.error({ err: error, requestId: request.id }, 'event stream failed');
    });
    return;
  }
  const status = value instanceof HttpReply ? value.status : usualStatus(operation);
  const body = value instanceof HttpReply ? value.body : value;
  if (value instanceof HttpReply) {
    for (const [name, text] of Object.entries(value.headers)) setHeader(request, reply, name, text);
  }
  reply.code(status);
  return body === undefined ? reply.send() : reply.send(body);
}

/** The status of a plain success. */
export function usualStatus(operation: { status?: number; reply: TSchema | undefined }): number {
  return operation.status ?? (operation.reply === undefined ? 204 : 200);
}

/** `/v1/smiths/{sid}` → `/v1/smiths/:sid`; a literal colon is doubled, as the router wants it. */
function fastifyPath(path: string): string {
  return path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * A path whose percent signs encode no UTF-8 would be refused by the router itself, without envelope and headers. Its
 * percent signs stand for themselves instead: then nothing answers to it.
 */
function takePercentSignsLiterally(url: string): string {
  if (!url.includes('%')) return url;
  const [path = '', ...query] = url.split('?');
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?');
  }
}

function setHeader(request: FastifyRequest, reply: FastifyReply, name: string, value: string): void {
  if (request.state) request.state.headers[name] = value;
  reply.header(name, value);
}

function setQuota(request: FastifyRequest, reply: FastifyReply, quota: Quota): void {
  for (const [name, value] of Object.entries(quotaHeaders(quota))) setHeader(request, reply, name, value);
}

function allowAnyOrigin(request: FastifyRequest, reply: FastifyReply): void {
  setHeader(request, reply, 'access-control-allow-origin', '*');
  setHeader(request, reply, 'access-control-expose-headers', '*');
  if (request.method !== 'OPTIONS') return;
  setHeader(request, reply, 'access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS');
  // `*` does not cover Authorization, so what the browser asks for is named back to it.
  const wanted = request.headers['access-control-request-headers'];
  setHeader(
    request,
    reply,
    'access-control-allow-headers',
    wanted === undefined ? 'Authorization, *' : `Authorization, ${wanted}`,
  );
  setHeader(request, reply, 'access-control-max-age', '86400');
}

function checkApiVersion(
  request: FastifyRequest,
  reply: FastifyReply,
  { header, live }: { readonly header: string; readonly live: readonly string[] },
): void {
  const latest = live.at(-1) ?? '';
  const asked = request.headers[header.toLowerCase()];
  const served = typeof asked === 'string' && live.includes(asked) ? asked : latest;
  setHeader(request, reply, header.toLowerCase(), served);
  if (asked !== undefined && asked !== served) {
    throw new ApiError('unsupported_api_version', {
      param: header,
      message: `${header} "${String(asked).slice(0, 40)}" is not served. Send ${live.join(' or ')}, or leave the header out.`,
    });
  }
}

function readRequestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

function toApiError(error: FastifyError, bodyLimitBytes: number): ApiError {
  if (error instanceof ApiError) return error;
  if (error.validation) {
    return refusalOf(error.validation as never, (error.validationContext ?? 'body') as RequestPart);
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('payload_too_large', { message: `The body is larger than ${bodyLimitBytes} bytes.` });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('invalid_request', { message: 'Send the body as application/json.', param: 'Content-Type' });
    default:
      break;
  }
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new ApiError('invalid_request', { message: `The request could not be read: ${error.message}` });
  }
  return new ApiError('internal_error', { cause: error });
}

function closeSignal(reply: FastifyReply): AbortSignal {
  const abort = new AbortController();
  if (reply.raw.destroyed) abort.abort();
  else reply.raw.once('close', () => abort.abort());
  return abort.signal;
}

function countRequests(app: FastifyInstance, metrics: Metrics): void {
  const seconds = metrics.histogram('http_request_duration_seconds', 'Time to answer, by operation and status', [
    'operation',
    'status',
  ]);
  app.addHook('onResponse', async (request, reply) => {
    const operation = request.state?.operation?.id ?? 'none';
    seconds.observe({ operation, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
    request.log.info(
      {
        requestId: request.id,
        operation,
        method: request.method,
        path: request.url.split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    );
  });
}

function collectComponents(operations: readonly Operation<never>[]): Map<string, TSchema> {
  const found = new Map<string, TSchema>();
  const visit = (schema: unknown): void => {
    if (schema === null || typeof schema !== 'object') return;
    const named = componentOf(schema);
    if (named !== undefined) {
      const known = found.get(named.name);
      if (known === undefined) {
        found.set(named.name, named.schema);
        visit(named.schema);
      } else if (known !== named.schema && canonicalJson(known) !== canonicalJson(named.schema)) {
        throw new Error(`Two schemas share the component name ${named.name}`);
      }
    }
    for (const member of Object.values(schema)) visit(member);
  };
  for (const { params, query, body, reply } of operations)
    for (const schema of [params, query, body, reply]) visit(schema);
  return found;
}
