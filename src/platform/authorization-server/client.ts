/** Programs that ask for tokens, and what they say of themselves: checked alike in a registration and in a metadata document. */
import type { JSONWebKeySet, JWK } from 'jose';
import { ApiError } from '../../kernel/http/errors.ts';
import { checkRedirectUri } from './redirect-uri.ts';

export const CLIENT_AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type ClientAuthMethod = (typeof CLIENT_AUTH_METHODS)[number];

export const MAX_REDIRECT_URIS = 20;
const MAX_KEYS = 10;
const MAX_TEXT = 2_048;
const MAX_NAME = 200;

/** As it is stored, in the names of RFC 7591. */
export interface ClientMetadata {
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: ClientAuthMethod;
  readonly scope?: string;
  readonly client_uri?: string;
  readonly jwks?: JSONWebKeySet;
  readonly jwks_uri?: string;
}

export interface OAuthClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  /** Of those with a secret. */
  readonly secretHash: string | null;
  /** The id is the address of a metadata document: the host vouches for the client. */
  readonly isDocument: boolean;
}

/**
 * What the metadata says, without what is of no use here. Throws `invalid_url` for a redirect and `invalid_request` for
 * everything else; `param` names the member.
 */
export function readClientMetadata(
  given: Readonly<Record<string, unknown>>,
  defaults: { readonly name: string; readonly authMethod: ClientAuthMethod },
): ClientMetadata {
  const method = readText(given, 'token_endpoint_auth_method', MAX_NAME) ?? defaults.authMethod;
  if (!isAuthMethod(method)) {
    throw refused('token_endpoint_auth_method', `is none of ${CLIENT_AUTH_METHODS.join(', ')}`);
  }
  requireAmong(given, 'grant_types', 'authorization_code');
  requireAmong(given, 'response_types', 'code');
  const scope = readText(given, 'scope', MAX_TEXT);
  const uri = readText(given, 'client_uri', MAX_TEXT);
  return {
    client_name: readText(given, 'client_name', MAX_NAME) ?? defaults.name,
    redirect_uris: readRedirectUris(given.redirect_uris),
    token_endpoint_auth_method: method,
    ...(scope === undefined ? {} : { scope }),
    ...(uri === undefined ? {} : { client_uri: uri }),
    ...readKeys(given, method),
  };
}

function isAuthMethod(text: string): text is ClientAuthMethod {
  return (CLIENT_AUTH_METHODS as readonly string[]).includes(text);
}

function readRedirectUris(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_REDIRECT_URIS) {
    const message = `\`redirect_uris\` must be a list of 1 to ${MAX_REDIRECT_URIS} addresses.`;
    throw new ApiError('invalid_url', { param: 'redirect_uris', message });
  }
  return given.map((uri, index) => {
    const param = `redirect_uris.${index}`;
    if (typeof uri !== 'string')
      throw new ApiError('invalid_url', { param, message: `\`${param}\` must be a string.` });
    checkRedirectUri(uri, param);
    return uri;
  });
}

function readKeys(
  given: Readonly<Record<string, unknown>>,
  method: ClientAuthMethod,
): Pick<ClientMetadata, 'jwks' | 'jwks_uri'> {
  if (method !== 'private_key_jwt') return {};
  const address = readText(given, 'jwks_uri', MAX_TEXT);
  const { jwks } = given;
  if ((address === undefined) === (jwks === undefined)) {
    throw refused('jwks', 'or `jwks_uri` must be there, and not both: `private_key_jwt` is checked with them');
  }
  if (address !== undefined) {
    if (!URL.canParse(address)) throw refused('jwks_uri', 'must be an absolute URL');
    return { jwks_uri: address };
  }
  const keys = (jwks as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS || !keys.every(isPublicKey)) {
    throw refused('jwks', `must have 1 to ${MAX_KEYS} public keys in \`keys\``);
  }
  return { jwks: { keys } };
}

function isPublicKey(key: unknown): key is JWK {
  if (key === null || typeof key !== 'object') return false;
  const { kty, d } = key as JWK;
  return d === undefined && (kty === 'RSA' || kty === 'EC' || kty === 'OKP');
}

function readText(given: Readonly<Record<string, unknown>>, name: string, maxLength: number): string | undefined {
  const value = given[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || value.length > maxLength) {
    throw refused(name, `must be a string of at most ${maxLength} characters`);
  }
  return value;
}

/** A list that leaves out what is needed here cannot be of a client for this server; others in it are ignored. */
function requireAmong(given: Readonly<Record<string, unknown>>, name: string, needed: string): void {
  const value = given[name];
  if (value === undefined || value === null) return;
  if (!Array.isArray(value) || !value.includes(needed)) throw refused(name, `must include ${needed}`);
}

function refused(param: string, what: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` ${what}.` });
}
