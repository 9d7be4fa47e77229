/**
 * The checks of a request before its body is read, in their order: CORS → API version → `Host` → length of its address and headers → load shedding → token
 * (who has no good one takes from the address's budget) → posture → scope → budget of the owner → room for the body. Every answer shows the
 * budget that its request took from, or would have.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { elapsedMs } from '../clock/timers.ts';
import type { Database } from '../db/database.ts';
import { followActivity } from '../event-loop/activity.ts';
import type { BodyBudget } from './body-budget.ts';
import { ApiError } from './errors.ts';
import { createLatenessMonitor } from './lateness.ts';
import type { Operation, OperationFacts } from './operation.ts';
import { addressKey, type Meter } from './rate-limit.ts';
import { checkHead } from './request-head.ts';
import { setHeader, setQuota } from './request-state.ts';

/** Who may call what: the service gives the posture and scope words of its operations their meaning. */
export interface Gate<Caller> {
  /**
   * Throws the refusal of a missing, malformed, expired or revoked token. `onClaimed` is told who the token is of, as soon as its
   * signature says so and before it is known whether it still stands: for what may be read meanwhile and thrown away.
   */
  authenticate(authorization: string | undefined, onClaimed?: (caller: Caller) => void): Promise<Caller>;
  /** Throws the refusal by posture, scope or subject. Sees the path, never the body. */
  authorize(operation: OperationFacts, caller: Caller, params: Readonly<Record<string, string>>): void;
  /** The codes that `authorize` may refuse the operation with, for its description. */
  refusalsOf(operation: OperationFacts): readonly string[];
  /** Whose request budget the call is taken from. */
  meterKey(caller: Caller): string;
  /** What of a refusal the caller may be told; undefined: nobody has proved who they are. Absent: all of it. */
  narrowRefusal?(refusal: ApiError, caller: Caller | undefined): ApiError;
}

/** Request budgets. */
export interface Meters {
  readonly owner: Meter;
  readonly address: Meter;
  /** By address, for what is no operation: documentation, the front page, metrics. */
  readonly document: Meter;
  /** By address, for health. */
  readonly probe: Meter;
}

/** A header that names the version which the caller speaks; without it the last live one is served. */
export interface ApiVersion {
  readonly header: string;
  readonly live: readonly string[];
}

export interface CheckOptions<Caller> {
  readonly gate: Gate<Caller>;
  readonly db: Database;
  readonly meters: Meters;
  /** Absent: the version is in the path. */
  readonly apiVersion?: ApiVersion;
  /** What the paths begin with that pages of any origin may call. */
  readonly corsPrefixes: readonly string[];
  readonly bodies: BodyBudget;
  readonly bodyLimitBytes: number;
  /** Lateness of the event loop beyond which new requests are refused with `service_overloaded`. Default 1000. */
  readonly overloadDelayMs?: number;
}

const DEFAULT_OVERLOAD_DELAY_MS = 1_000;
/** Until then a server that was rid of its overload has noticed it. */
const OVERLOAD_RETRY_AFTER_SECONDS = 2;

/** Adds the checks, as hooks in the order in which they run. */
export function checkRequests<Caller>(app: FastifyInstance, options: CheckOptions<Caller>): void {
  const isForAnyOrigin = ({ url }: FastifyRequest) => options.corsPrefixes.some((prefix) => url.startsWith(prefix));
  // What waits for nothing is no promise: each would cost every request a turn of its own.
  app.addHook('onRequest', (request, reply, done) => {
    const operation = request.routeOptions.config.operation;
    request.state = { caller: undefined, operation, headers: {} };
    setHeader(request, reply, 'x-request-id', request.id);
    if (isForAnyOrigin(request)) allowAnyOrigin(request, reply);
    if (options.apiVersion !== undefined) checkApiVersion(request, reply, options.apiVersion);
    checkHost(request);
    checkHead(request.originalUrl, request.raw.rawHeaders);
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method !== 'OPTIONS' || !isForAnyOrigin(request)) return done();
    showQuota(request, reply, options).then(() => reply.code(204).send(), done);
  });
  shedLoad(app, options.overloadDelayMs ?? DEFAULT_OVERLOAD_DELAY_MS);
  app.addHook('onRequest', async (request, reply) => {
    await checkCaller(request, reply, options);
    const { operation, caller } = request.state;
    if (operation === undefined || operation.bodyFormat === 'files') return;
    const owner = caller === undefined ? addressKey(request.ip) : options.gate.meterKey(caller as Caller);
    options.bodies.admit(request.raw, owner, operation.maxBodyBytes ?? options.bodyLimitBytes);
  });
}

/**
 * Refuses every call while the server closes, and calls of operations while the event loop is overloaded. Health, metrics
 * and documentation are none.
 */
function shedLoad(app: FastifyInstance, limitMs: number): void {
  const lateness = createLatenessMonitor(limitMs);
  let isClosing = false;
  let unfollow: (() => void) | undefined;
  // Starting blocks the loop, which is no reason to refuse the first callers. The monitor of an idle process rests: what comes then makes
  // the process active, and the monitor starts with nothing on record.
  app.addHook('onListen', async () => {
    unfollow ??= followActivity(lateness);
  });
  app.addHook('onClose', async () => unfollow?.());
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', ({ state }, _reply, done) => {
    if (isClosing || (state.operation !== undefined && lateness.isOverloaded())) {
      throw new ApiError('service_overloaded', { retryAfterSeconds: OVERLOAD_RETRY_AFTER_SECONDS });
    }
    done();
  });
}

/**
 * Throws the refusal by token, posture, scope or budget. Only callers who prove nobody take from their address's
 * budget, so a good token is never kept out by what others behind the same address do. Whoever proves to be somebody
 * takes from the budget of its owner, also with a call that is refused or leads nowhere.
 */
async function checkCaller<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: CheckOptions<Caller>,
): Promise<void> {
  const { gate, meters } = options;
  const operation = request.state.operation as Operation<Caller> | undefined;
  if (operation === undefined && !request.is404) {
    // Budgets of their own: neither side can use up the other's.
    const meter = request.routeOptions.config.isProbe === true ? meters.probe : meters.document;
    return setQuota(request, reply, await meter.take(addressKey(request.ip)));
  }
  const takeFromAddress = async () => setQuota(request, reply, await meters.address.take(addressKey(request.ip)));
  // Whoever proves to be somebody by what it sends is not kept out by forgers behind the same address: they take from its
  // budget once they are found out.
  if (operation?.verify !== undefined)
    return setQuota(request, reply, await meters.address.look(addressKey(request.ip)));
  if (operation?.posture === 'public') return takeFromAddress();
  let caller: Caller;
  try {
    caller = await gate.authenticate(request.headers.authorization, readAheadOf(request, options));
  } catch (refusal) {
    // A store that fails is not the caller's doing.
    if (!(refusal instanceof ApiError)) throw refusal;
    await takeFromAddress();
    // A route that does not exist does not exist for anybody.
    if (operation === undefined) return;
    throw refusal;
  }
  request.state.caller = caller;
  const owner = gate.meterKey(caller);
  if (operation !== undefined) {
    try {
      gate.authorize(operation, caller, request.params as Record<string, string>);
    } catch (refusal) {
      setQuota(request, reply, await meters.owner.count(owner));
      throw refusal;
    }
  }
  setQuota(request, reply, await meters.owner.take(owner));
}

/** Begins what the operation reads first while its caller's token is asked about: the two wait together. */
function readAheadOf<Caller>(
  request: FastifyRequest,
  { gate, db }: CheckOptions<Caller>,
): ((caller: Caller) => void) | undefined {
  const operation = request.state.operation as Operation<Caller> | undefined;
  const { readAhead } = operation ?? {};
  if (operation === undefined || readAhead === undefined) return undefined;
  return (caller) => {
    const params = request.params as Record<string, string>;
    try {
      gate.authorize(operation, caller, params);
    } catch {
      // The check itself refuses the call, once the token is known to stand.
      return;
    }
    const { headers } = request;
    const read = readAhead({ caller, headers, params, db: operation.handles.db(db, caller) });
    // Whoever asks for it is told of its failure.
    read?.catch(() => undefined);
    request.state.ahead = { read, begunAtMs: elapsedMs() };
  };
}

/** Shows what is left of the caller's budget on an answer that took nothing from it. */
export async function showQuota<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Pick<CheckOptions<Caller>, 'gate' | 'meters'>,
): Promise<void> {
  const { caller, headers } = request.state;
  if ('ratelimit' in headers) return;
  const quota =
    caller === undefined
      ? options.meters.address.look(addressKey(request.ip))
      : options.meters.owner.look(options.gate.meterKey(caller as Caller));
  setQuota(request, reply, await quota);
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

/** HTTP/1.1 has a server refuse what names no host (RFC 9112, section 3.2). Node would, with an answer of no body. */
function checkHost({ raw, headers }: FastifyRequest): void {
  if (headers.host !== undefined || raw.httpVersion !== '1.1') return;
  throw new ApiError('invalid_request', {
    status: 400,
    param: 'Host',
    message: 'The request names no host. Send the header Host.',
  });
}

function checkApiVersion(request: FastifyRequest, reply: FastifyReply, { header, live }: ApiVersion): void {
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
