/** Why a server could not be spoken to, in words for the tenant: never an address behind a name. */
import { OutboundError } from '../../../kernel/outbound/outbound.ts';

/**
 * `connect`: nothing answered; `auth`: it asks who calls; `protocol`: it answered something else than the protocol has;
 * `refused`: it answered with an error; `time`: the deadline passed.
 */
export type McpFailureKind = 'connect' | 'auth' | 'protocol' | 'refused' | 'time';

/** What a server wants of whoever calls, as it refuses a call (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface McpChallenge {
  /** Another token of the same account would be refused too. */
  readonly isForScope: boolean;
  readonly scope?: string;
  readonly resourceMetadataUrl?: URL;
}

export class McpFailure extends Error {
  readonly kind: McpFailureKind;
  /** The server cannot have received the request: it may be sent once more. */
  readonly neverReceived: boolean;
  /** Of the kind `auth`; undefined: it does not say what it wants. */
  readonly challenge: McpChallenge | undefined;

  constructor(
    kind: McpFailureKind,
    message: string,
    options: {
      readonly neverReceived?: boolean;
      readonly challenge?: McpChallenge | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'McpFailure';
    this.kind = kind;
    this.neverReceived = options.neverReceived ?? false;
    this.challenge = options.challenge;
  }
}

/** Codes of connections that were never made. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Of the server's own words. */
const MAX_WORDS = 500;
/** How deep causes are looked through. */
const MAX_CAUSES = 8;

interface Named {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly data?: unknown;
}

/**
 * What went wrong, of an error of the protocol's client or of the connection. `hasSession`: a session was used that was begun
 * before; `challenge`: the last one on the connection.
 */
export function describeFailure(error: unknown, hasSession = false, challenge?: McpChallenge): McpFailure {
  if (error instanceof McpFailure) return error;
  const chain = causesOf(error);
  const guard = chain.find((cause) => cause instanceof OutboundError);
  if (guard !== undefined)
    return new McpFailure(guard.reason === 'too_large' ? 'protocol' : 'connect', guard.message, { cause: error });
  const status = findStatus(error);
  if (
    status === 401 ||
    status === 403 ||
    chain.some(({ name }) => name === 'UnauthorizedError' || name === 'InsufficientScopeError')
  ) {
    return new McpFailure('auth', 'the server asks for authorization that the registration does not give', {
      challenge,
      cause: error,
    });
  }
  if (status === 404 && hasSession) {
    return new McpFailure('protocol', 'the session has expired', { neverReceived: true, cause: error });
  }
  if (status !== undefined)
    return new McpFailure('protocol', `the server answered with status ${status}`, { cause: error });
  const code = chain.map(({ code: found }) => found).find(isSystemCode);
  if (code !== undefined) {
    const neverReceived = NEVER_CONNECTED.has(code);
    return new McpFailure('connect', `the connection failed (${code})`, { neverReceived, cause: error });
  }
  return describeAnswer(chain[0] ?? {}, error);
}

/** What the client of the protocol says of an answer. */
function describeAnswer({ name, code, message }: Named, cause: unknown): McpFailure {
  const words = typeof message === 'string' ? message.slice(0, MAX_WORDS).toWellFormed() : '';
  if (code === 'REQUEST_TIMEOUT' || name === 'TimeoutError')
    return new McpFailure('time', 'the server did not answer in time', { cause });
  if (name === 'ProtocolError' || typeof code === 'number')
    return new McpFailure('refused', `the server refused: ${words}`, { cause });
  if (code === 'CONNECTION_CLOSED' || code === 'SEND_FAILED')
    return new McpFailure('connect', 'the connection was closed', { cause });
  if (name === 'TypeError' && words === 'fetch failed')
    return new McpFailure('connect', 'the connection failed', { cause });
  return new McpFailure('protocol', 'the server answered with something that is not the Model Context Protocol', {
    cause,
  });
}

/** The HTTP status that the error tells of; undefined where it tells of none. */
export function findStatus(error: unknown): number | undefined {
  return causesOf(error)
    .map(statusOf)
    .find((found) => found !== undefined);
}

function causesOf(error: unknown): (Error & Named)[] {
  const chain: (Error & Named)[] = [];
  for (let cause: unknown = error; cause instanceof Error && chain.length < MAX_CAUSES; ) {
    chain.push(cause);
    const { cause: next, data } = cause as Named;
    cause = next ?? (data as { cause?: unknown } | undefined)?.cause;
  }
  return chain;
}

/** Of an error of the client that tells of an HTTP answer. */
function statusOf({ data, code, name }: Named): number | undefined {
  const status = (data as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number') return status;
  return name === 'SseError' && typeof code === 'number' ? code : undefined;
}

function isSystemCode(code: unknown): code is string {
  return (
    typeof code === 'string' &&
    /^(?:E[A-Z]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|[A-Z_]*CERT[A-Z_]*|DEPTH_ZERO_SELF_SIGNED_CERT)$/.test(code)
  );
}
