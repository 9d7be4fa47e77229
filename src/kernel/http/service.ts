/**
 * A service over HTTP: operations in, a Fastify instance out. Every operation gets, in this order and with no code of
 * its own: request id → the checks before the body (check-request.ts) → body (size-capped) → validation →
 * Idempotency-Key → handler → reply (run-operation.ts). A refusal by posture or scope happens before the body is read.
 */
import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { TSchema } from 'typebox';
import type { TrustProxy } from '../config/parse-value.ts';
import type { Database } from '../db/database.ts';
import { ownIteration } from '../event-loop/own-iteration.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { answerRefusals } from './answer-refusal.ts';
import { createBodyBudget } from './body-budget.ts';
import { answerBrokenRequest, answerRefusedConnection } from './broken-request.ts';
import { type ApiVersion, checkRequests, type Gate, type Meters, showQuota } from './check-request.ts';
import { compressAnswers, isCompressible } from './compression.ts';
import { createDeferredCompiler } from './deferred-compiler.ts';
import { type ErrorCatalogue, type ErrorDialect, openAiErrors } from './errors.ts';
import { serveFrontPage } from './front-page.ts';
import { guardConnections } from './guard-connections.ts';
import { canonicalJson, type IdempotencyStore } from './idempotency.ts';
import type { ConnectionLimits } from './limit-connections.ts';
import { mountOperation } from './mount-operation.ts';
import { documentOperations } from './openapi.ts';
import type { Operation } from './operation.ts';
import { createMeter } from './rate-limit.ts';
import type { Topic } from './reference-topics.ts';
import { acceptBodies } from './request-body.ts';
import { MAX_HEAD_BYTES, MAX_URL_LENGTH } from './request-head.ts';
import { component, componentOf } from './schema.ts';
import { createSerializers } from './serialization.ts';
import { serveDocument } from './serve-document.ts';
import { isSocketUpgrade, serveSockets } from './serve-sockets.ts';
import { createStandingWatch } from './standing-watch.ts';
import { Type } from './type-builder.ts';
import { createValidators, type RequestPart } from './validation.ts';
import { deadlinesFor } from './watch-connections.ts';

export type { Gate } from './check-request.ts';

export interface ServiceOptions<Caller> {
  readonly name: string;
  readonly title: string;
  /** Version in the OpenAPI document. */
  readonly version: string;
  readonly description: string;
  readonly errors: ErrorCatalogue;
  /** Default: the envelope that OpenAI's clients read. */
  readonly errorDialect?: ErrorDialect;
  /** What a bearer token is, as the OpenAPI document names it. Default `JWT`. */
  readonly bearerFormat?: string;
  /** The gate lets each operation see only callers of the kind that it is defined for. */
  readonly operations: readonly Operation<never>[];
  /** The chapters of the reference, in their order. Default: one a resource. */
  readonly topics?: readonly Topic[];
  readonly gate: Gate<Caller>;
  readonly idempotency: IdempotencyStore<Caller>;
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The address of `basePath`. */
  readonly publicUrl: string;
  /** What every operation's path begins with, and where the document and its page are. Default: nothing. */
  readonly basePath?: string;
  /** Absent: the version is in the path. */
  readonly apiVersion?: ApiVersion;
  /** Whose request budget it is that calls take from, as the headers name it. Default `project`. */
  readonly ownerName?: string;
  /** What the paths begin with that pages of any origin may call. */
  readonly corsPrefixes: readonly string[];
  readonly requestsPerMinute: number;
  readonly addressRequestsPerMinute: number;
  readonly bodyLimitBytes: number;
  readonly trustProxy: TrustProxy;
  /** How long a caller may stall: see `deadlinesFor`. */
  readonly stallMs?: number;
  readonly connections: ConnectionLimits;
  /** Lateness of the event loop beyond which new requests are refused with `service_overloaded`. Default 1000. */
  readonly overloadDelayMs?: number;
}

/** Of one address for the documentation, the front page and metrics, which cost more to send than to ask for. */
const DOCUMENT_REQUESTS_PER_MINUTE = 600;
/** Of one address, for health: a whole fleet of load balancers behind one address may ask every second. */
const PROBE_REQUESTS_PER_MINUTE = 6_000;
const LARGE_ANSWER_CHARS = 256 * 1024;

/** Builds the server; it does not listen yet. */
export async function createService<Caller>(given: ServiceOptions<Caller>): Promise<FastifyInstance> {
  const options = {
    ...given,
    errorDialect: given.errorDialect ?? openAiErrors,
    bearerFormat: given.bearerFormat ?? 'JWT',
    basePath: given.basePath ?? '',
    topics: given.topics ?? [],
    kernelRefusals: given.apiVersion === undefined ? [] : ['unsupported_api_version'],
  };
  const meters: Meters = {
    owner: createMeter(options.ownerName ?? 'project', options.requestsPerMinute),
    address: createMeter('address', options.addressRequestsPerMinute),
    document: createMeter('document', DOCUMENT_REQUESTS_PER_MINUTE),
    probe: createMeter('probe', PROBE_REQUESTS_PER_MINUTE),
  };
  const deadlines = deadlinesFor(options.stallMs);
  const broken = { ...options, addressMeter: meters.address };
  const app = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    // onResponse writes one line a request instead (countRequests).
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: options.bodyLimitBytes,
    trustProxy: options.trustProxy,
    requestIdHeader: false,
    genReqId: readRequestId,
    forceCloseConnections: 'idle',
    clientErrorHandler: (error, socket) => {
      answerBrokenRequest(error, socket, broken).catch(() => socket.destroy());
    },
    // Both are refused by the checks instead, with the headers that every answer carries.
    return503OnClosing: false,
    http: {
      requireHostHeader: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      shouldUpgradeCallback: isSocketUpgrade,
      headersTimeout: deadlines.headersMs,
      connectionsCheckingInterval: deadlines.sweepMs,
    },
    keepAliveTimeout: deadlines.keepAliveMs,
    // How long a body may take depends on its size: see watch-connections.ts.
    requestTimeout: 0,
    // As long as a URL can be: an id that is too long is one that does not exist.
    routerOptions: { maxParamLength: MAX_URL_LENGTH, ignoreTrailingSlash: false },
    rewriteUrl: ({ url = '/' }) => takePercentSignsLiterally(url),
    // Prototype-named members are refused with a clear error rather than dropped.
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    // Empty bodies are a matter for validation.
    ajv: { customOptions: { strict: false } },
    // Those that are set below. Fastify would load its own all the same.
    schemaController: { compilersFactory: { buildValidator: refuseToBuild, buildSerializer: refuseToBuild } },
  });
  const components = collectComponents(options.operations);
  for (const [name, schema] of components) app.addSchema({ ...schema, $id: name });
  const compiler = createDeferredCompiler();
  const validators = createValidators(components, compiler);
  app.decorate('compileSchemas', () => compiler.compileAll());
  app.setSerializerCompiler(createSerializers(components, compiler));
  app.setValidatorCompiler(({ schema, httpPart }) => validators.compile(httpPart as RequestPart, schema as TSchema));

  // An expectation that is not known may be ignored (RFC 9110, section 10.1.1); Node would refuse it without a body.
  app.server.on('checkExpectation', (request, response) => app.routing(request, response));
  app.decorateRequest('state', null as never);
  guardConnections(app, {
    ...options,
    deadlines,
    refuse(socket, refusal) {
      answerRefusedConnection(socket, refusal, broken).catch(() => socket.destroy());
    },
  });
  await acceptBodies(app, 'json');
  sendLargeAnswersLater(app);
  countRequests(app, options.metrics);
  checkRequests(app, { ...options, meters, bodies: createBodyBudget(options.bodyLimitBytes) });
  answerRefusals(app, {
    ...options,
    narrow: (refusal, { state }) =>
      options.gate.narrowRefusal?.(refusal, state?.caller as Caller | undefined) ?? refusal,
    showQuota: (request, reply) => showQuota(request, reply, { gate: options.gate, meters }),
  });

  await documentOperations(app, options);
  await serveDocument(app, options);
  serveFrontPage(app, options);
  const operations = options.operations as unknown as readonly Operation<Caller>[];
  const standing = createStandingWatch((authorization) => options.gate.authenticate(authorization));
  const mounting = { ...options, meters, standing, sockets: serveSockets(app) };
  for (const format of new Set(operations.map(({ bodyFormat }) => bodyFormat))) {
    for (const compresses of [false, true]) {
      await app.register(async (routes) => {
        await acceptBodies(routes, format);
        if (compresses) await compressAnswers(routes);
        for (const operation of operations) {
          if (operation.bodyFormat !== format || isCompressible(operation) !== compresses) continue;
          mountOperation(routes, operation, mounting);
        }
      });
    }
  }
  return app;
}

function refuseToBuild(): never {
  throw new Error('a schema was compiled before the compilers were set');
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

function readRequestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** An answer that took long to write takes long to encode: others get their turn in between. */
function sendLargeAnswersLater(app: FastifyInstance): void {
  app.addHook<unknown>('onSend', (_request, _reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length <= LARGE_ANSWER_CHARS) return done(null, payload);
    void ownIteration().then(() => {
      const bytes = Buffer.from(payload);
      void ownIteration().then(() => done(null, bytes));
    });
  });
}

/** One line of the log and one observation an answer. */
function countRequests(app: FastifyInstance, metrics: Metrics): void {
  const seconds = metrics.histogram('http_request_duration_seconds', 'Time to answer, by operation and status', [
    'operation',
    'status',
  ]);
  app.addHook('onResponse', (request, reply, done) => {
    const operation = request.state?.operation?.id ?? 'none';
    seconds.observe({ operation, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
    request.log.info(
      {
        operation,
        method: request.method,
        path: request.url.split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    );
    done();
  });
}

/** The named schemas of all operations, by name. Throws where two share one. */
function collectComponents(operations: readonly Operation<never>[]): Map<string, TSchema> {
  const found = new Map<string, TSchema>();
  // Operations share most of what their schemas are made of.
  const seen = new Set<object>();
  const visit = (schema: unknown): void => {
    if (schema === null || typeof schema !== 'object' || seen.has(schema)) return;
    seen.add(schema);
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
  for (const { params, query, body, reply, frames, upload, errorDialect } of operations) {
    for (const schema of [params, query, body, reply, frames, upload?.fields]) visit(schema);
    if (errorDialect !== undefined) visit(component(errorDialect.name, Type.Unsafe(errorDialect.schema)));
  }
  return found;
}
