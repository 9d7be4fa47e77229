/** Requests to token and revocation endpoints (RFC 6749 section 5, RFC 7009), and what providers make of them. */
import { OutboundError } from '../../../kernel/outbound/outbound.ts';
import type { ProviderQuirks } from '../well-known-providers.ts';
import { authenticate, type OAuthClient, type SigningKeySource } from './client-authentication.ts';

export interface TokenEndpoint {
  readonly url: string;
  /** Undefined: not known. */
  readonly issuer: string | undefined;
  readonly client: OAuthClient;
  readonly quirks: ProviderQuirks;
}

export interface TokenDependencies {
  readonly fetch: typeof globalThis.fetch;
  readonly signingKey: SigningKeySource;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Undefined: the provider does not say. */
  readonly expiresInSeconds: number | undefined;
  /** Undefined: as asked for. */
  readonly scopes: readonly string[] | undefined;
}

/**
 * `ended`: what was presented is worth nothing any more; `refused`: anything else that the provider refuses by its protocol;
 * `unavailable`: it did not answer, or not as a token endpoint does, so that nothing is known.
 */
export type TokenFailureKind = 'ended' | 'refused' | 'unavailable';

/** Its message is for tenants and holds no secret. */
export class TokenFailure extends Error {
  readonly kind: TokenFailureKind;

  constructor(kind: TokenFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TokenFailure';
    this.kind = kind;
  }
}

const MAX_TOKEN_LENGTH = 16_384;
const TOKEN = /^[\x21-\x7e]+$/;
const MAX_WORD_LENGTH = 100;
const MAX_SECONDS = 10 * 365 * 86_400;
const MAX_SCOPES = 200;
/** Kinds of tokens that are no use without a proof beside them. */
const BOUND_TYPES: ReadonlySet<string> = new Set(['dpop', 'mac', 'pop', 'n_a']);

/** Throws TokenFailure. */
export async function requestTokens(
  deps: TokenDependencies,
  endpoint: TokenEndpoint,
  params: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const response = await post(deps, endpoint, params);
  const answer = await readAnswer(response);
  const error = errorOf(answer);
  if (error !== undefined) {
    const isEnd = error === 'invalid_grant' || endpoint.quirks.endedErrors?.includes(error) === true;
    throw new TokenFailure(isEnd ? 'ended' : 'refused', `the provider refused with ${error}`);
  }
  if (!response.ok) throw new TokenFailure('unavailable', `the provider answered with status ${response.status}`);
  return readTokens(answer, endpoint.quirks);
}

/** Ends the token where it comes from. Throws TokenFailure. */
export async function revokeToken(
  deps: TokenDependencies,
  endpoint: TokenEndpoint,
  token: string,
  hint: 'access_token' | 'refresh_token',
): Promise<void> {
  const response = await post(deps, endpoint, { token, token_type_hint: hint });
  if (response.ok) return;
  const kind = response.status >= 500 || response.status === 429 ? 'unavailable' : 'refused';
  throw new TokenFailure(kind, `the provider answered with status ${response.status}`);
}

async function post(
  { fetch, signingKey }: TokenDependencies,
  { url, issuer, client, quirks }: TokenEndpoint,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const body = new URLSearchParams(params);
  const headers = new Headers({ accept: 'application/json', ...quirks.tokenHeaders });
  await authenticate(signingKey, client, issuer ?? url, { body, headers });
  const isJson = quirks.tokenBody === 'json';
  headers.set('content-type', isJson ? 'application/json' : 'application/x-www-form-urlencoded');
  const text = isJson ? JSON.stringify(Object.fromEntries(body)) : body.toString();
  try {
    return await fetch(url, { method: 'POST', headers, body: text });
  } catch (cause) {
    const why = cause instanceof OutboundError ? cause.message : 'the provider did not answer';
    throw new TokenFailure('unavailable', why, { cause });
  }
}

type Answer = Readonly<Record<string, unknown>>;

async function readAnswer(response: Response): Promise<Answer> {
  if (response.status >= 500 || response.status === 429) {
    throw new TokenFailure('unavailable', `the provider answered with status ${response.status}`);
  }
  const parsed = parseObject(await response.text());
  if (parsed !== undefined) return parsed;
  throw new TokenFailure('unavailable', `the provider answered with status ${response.status} and no JSON`);
}

function parseObject(text: string): Answer | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Answer) : undefined;
  } catch {
    return undefined;
  }
}

/** Some providers refuse with status 200. */
function errorOf({ error }: Answer): string | undefined {
  if (error === undefined || error === null || error === '') return undefined;
  return typeof error === 'string' && /^[\w.:-]+$/.test(error) ? error.slice(0, MAX_WORD_LENGTH) : 'an error';
}

function readTokens(answer: Answer, { scopeSeparator }: ProviderQuirks): Tokens {
  const { access_token, refresh_token, expires_in, token_type, scope } = answer;
  if (typeof token_type === 'string' && BOUND_TYPES.has(token_type.toLowerCase())) {
    throw new TokenFailure('refused', 'the provider gives tokens that need a proof beside them');
  }
  if (!isToken(access_token)) throw new TokenFailure('unavailable', 'the provider answered without an access token');
  const seconds = Number(expires_in);
  return {
    accessToken: access_token,
    refreshToken: isToken(refresh_token) ? refresh_token : undefined,
    expiresInSeconds:
      expires_in == null || !Number.isFinite(seconds) || seconds < 0
        ? undefined
        : Math.min(Math.trunc(seconds), MAX_SECONDS),
    scopes: typeof scope === 'string' ? splitScopes(scope, scopeSeparator) : undefined,
  };
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TOKEN_LENGTH && TOKEN.test(value);
}

function splitScopes(text: string, separator?: ','): string[] {
  const parts = text.split(separator === ',' ? /[\s,]+/ : /\s+/).filter((part) => part !== '' && part.length <= 256);
  return [...new Set(parts)].slice(0, MAX_SCOPES);
}
