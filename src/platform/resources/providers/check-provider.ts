/** What a client at a provider must be to be of use, checked when it is saved. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import {
  boundedFetch,
  checkEndpoint,
  DiscoveryFailure,
  discoverIssuer,
  findWellKnown,
} from '../../connections/index.ts';
import type { ClientAuthMethod } from '../../tables.ts';
import type { OAuthProviderIn } from './schema.ts';
import type { NewProvider } from './store.ts';

export interface CheckedProvider {
  readonly saved: Omit<NewProvider, 'token_endpoint_auth_method'>;
  /** Undefined: what suits the secret. */
  readonly method: ClientAuthMethod | undefined;
  /** Undefined: it does not say. */
  readonly methodsOffered: readonly string[] | undefined;
  /** Null: none any more; undefined: the one that is there. */
  readonly secret: string | null | undefined;
}

interface Known {
  readonly issuer?: string | undefined;
  readonly authorization_endpoint?: string | undefined;
  readonly token_endpoint?: string | undefined;
  readonly revocation_endpoint?: string | undefined;
  readonly namesItself: boolean;
  readonly methods: readonly string[] | undefined;
}

/**
 * Looks hosts up and asks the issuer: call it outside of any transaction. Throws `unknown_provider`, `invalid_url`,
 * `secret_required` and `discovery_failed`.
 */
export async function checkProvider(
  outbound: Pick<Outbound, 'fetch' | 'checkUrl'>,
  name: string,
  body: OAuthProviderIn,
): Promise<CheckedProvider> {
  const known = await findKnown(outbound, name, body);
  // What is known was checked as it was found out.
  const check = async (member: Endpoint) => {
    const given = body[member];
    return given == null ? known[member] : checkAddress(outbound, member, given);
  };
  const authorization_endpoint = await check('authorization_endpoint');
  const token_endpoint = await check('token_endpoint');
  if (authorization_endpoint === undefined || token_endpoint === undefined) throw unknown(name);
  return {
    saved: {
      provider: name,
      client_id: body.client_id,
      scopes_allowed: [...new Set(body.scopes_allowed ?? [])],
      issuer: body.issuer ?? known.issuer ?? null,
      authorization_endpoint,
      token_endpoint,
      revocation_endpoint: (await check('revocation_endpoint')) ?? null,
      names_itself: known.namesItself,
    },
    method: body.token_endpoint_auth_method ?? undefined,
    methodsOffered: known.methods,
    secret: checkSecret(body.client_secret),
  };
}

type Endpoint = 'authorization_endpoint' | 'token_endpoint' | 'revocation_endpoint';

function unknown(name: string): ApiError {
  const message = `${name} is no name whose endpoints are known here. Send \`issuer\`, or \`authorization_endpoint\` and \`token_endpoint\`.`;
  return new ApiError('unknown_provider', { param: 'provider', message });
}

async function findKnown(
  outbound: Pick<Outbound, 'fetch' | 'checkUrl'>,
  name: string,
  body: OAuthProviderIn,
): Promise<Known> {
  const wellKnown = findWellKnown(name);
  const own = wellKnown === undefined ? undefined : [wellKnown.token_endpoint_auth_method];
  if (body.issuer == null) return { ...pointsOf(wellKnown, body), namesItself: false, methods: own };
  const address = await checkAddress(outbound, 'issuer', body.issuer, { keep: true });
  // What is well known of the same issuer need not be asked for.
  if (wellKnown?.issuer === address) return { ...wellKnown, namesItself: false, methods: own };
  try {
    const found = await discoverIssuer({ fetch: boundedFetch(outbound), outbound }, address);
    if (found === undefined) return { namesItself: false, methods: own };
    return {
      issuer: found.issuer,
      authorization_endpoint: found.authorizationEndpoint,
      token_endpoint: found.tokenEndpoint,
      revocation_endpoint: found.revocationEndpoint,
      namesItself: found.namesItself,
      methods: found.authMethods,
    };
  } catch (cause) {
    if (!(cause instanceof DiscoveryFailure)) throw cause;
    const message = `The metadata of \`issuer\` cannot be used: ${cause.message}. Correct it, or send the endpoints without it.`;
    throw new ApiError('discovery_failed', { param: 'issuer', message, cause });
  }
}

/** A well-known issuer is that of its own endpoints, and of no others: a company's own installation, say. */
function pointsOf(wellKnown: ReturnType<typeof findWellKnown>, body: OAuthProviderIn) {
  if (wellKnown === undefined) return {};
  const isElsewhere = body.token_endpoint != null && body.token_endpoint !== wellKnown.token_endpoint;
  if (!isElsewhere) return wellKnown;
  const { authorization_endpoint } = wellKnown;
  return { authorization_endpoint };
}

/** `keep`: as it stands, because what it names itself is compared with it. */
async function checkAddress(
  outbound: Pick<Outbound, 'checkUrl'>,
  param: string,
  url: string,
  { keep = false } = {},
): Promise<string> {
  try {
    const checked = await checkEndpoint(outbound, url);
    if (new URL(url).hash !== '') throw new DiscoveryFailure('it has a fragment, which is never sent');
    return keep ? url : checked;
  } catch (cause) {
    if (!(cause instanceof DiscoveryFailure)) throw cause;
    const why = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new ApiError('invalid_url', { param, message: `\`${param}\` is refused: ${why}.`, cause });
  }
}

function checkSecret(given: string | null | undefined): string | null | undefined {
  if (given == null) return given;
  // What is pasted tends to bring a line break along.
  const secret = given.trim();
  if (secret === '') throw new ApiError('secret_required', { param: 'client_secret' });
  if (/^[\x20-\x7e]+$/.test(secret)) return secret;
  const message = '`client_secret` holds characters that no secret has. Copy it again.';
  throw new ApiError('invalid_request', { param: 'client_secret', message });
}
