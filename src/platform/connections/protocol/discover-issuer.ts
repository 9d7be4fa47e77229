/** What an issuer says of itself (RFC 8414, OpenID Connect Discovery), as far as it is used, its addresses checked. */
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';

export interface Issuer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | undefined;
  readonly registrationEndpoint: string | undefined;
  /** Undefined: it does not say. */
  readonly authMethods: readonly string[] | undefined;
  readonly scopes: readonly string[] | undefined;
  /** What it answers to the browser names it (RFC 9207). */
  readonly namesItself: boolean;
  /** Clients may be documents at an address (client ID metadata documents). */
  readonly takesDocuments: boolean;
}

/** Why it cannot be used, in words for the tenant. */
export class DiscoveryFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DiscoveryFailure';
  }
}

/** Undefined: it has no such document. Throws DiscoveryFailure. */
export async function discoverIssuer(
  deps: { readonly fetch: typeof globalThis.fetch; readonly outbound: Pick<Outbound, 'checkUrl'> },
  address: string,
): Promise<Issuer | undefined> {
  const sdk = await import('@modelcontextprotocol/client');
  let metadata: AuthorizationServerMetadata | undefined;
  try {
    metadata = await sdk.discoverAuthorizationServerMetadata(address, { fetchFn: deps.fetch });
  } catch (cause) {
    throw new DiscoveryFailure(describe(cause), { cause });
  }
  return metadata === undefined ? undefined : readMetadata(deps.outbound, metadata);
}

function describe(cause: unknown): string {
  if (cause instanceof OutboundError) return cause.message;
  const { name } = cause as { name?: unknown };
  if (name === 'IssuerMismatchError') return 'its metadata names another issuer';
  if (name === 'TimeoutError') return 'it did not answer in time';
  return 'its metadata could not be read';
}

async function readMetadata(
  outbound: Pick<Outbound, 'checkUrl'>,
  metadata: AuthorizationServerMetadata,
): Promise<Issuer> {
  if (!metadata.response_types_supported.includes('code')) throw new DiscoveryFailure('it gives no codes');
  const challenges = metadata.code_challenge_methods_supported;
  if (challenges !== undefined && !challenges.includes('S256')) {
    throw new DiscoveryFailure('it does not know the code challenge method S256');
  }
  const check = (url: string) => checkEndpoint(outbound, url);
  const { registration_endpoint: registration } = metadata;
  const { revocation_endpoint: revocation } = metadata as { revocation_endpoint?: unknown };
  return {
    issuer: metadata.issuer,
    authorizationEndpoint: await check(metadata.authorization_endpoint),
    tokenEndpoint: await check(metadata.token_endpoint),
    revocationEndpoint: typeof revocation === 'string' ? await check(revocation) : undefined,
    registrationEndpoint: registration === undefined ? undefined : await check(registration),
    authMethods: metadata.token_endpoint_auth_methods_supported,
    scopes: metadata.scopes_supported,
    namesItself: metadata.authorization_response_iss_parameter_supported === true,
    takesDocuments: metadata.client_id_metadata_document_supported === true,
  };
}

/** Throws DiscoveryFailure. */
export async function checkEndpoint(outbound: Pick<Outbound, 'checkUrl'>, url: string): Promise<string> {
  try {
    return (await outbound.checkUrl(url, { policy: 'public', httpsOnly: true })).href;
  } catch (cause) {
    if (!(cause instanceof OutboundError)) throw cause;
    throw new DiscoveryFailure(`one of its endpoints is refused: ${cause.message}`, { cause });
  }
}
