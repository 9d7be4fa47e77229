/**
 * Whose accounts an MCP server takes: its challenge, the metadata of the resource (RFC 9728), and the issuer that this names.
 * A server of the revision 2025-03-26 has none of these: its own origin is then the issuer, at the paths of that revision.
 */
import type { OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client';
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { checkEndpoint, DiscoveryFailure, discoverIssuer, type Issuer } from './discover-issuer.ts';

/** What a server says as it refuses a call (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface Challenge {
  readonly scope?: string;
  readonly resourceMetadataUrl?: URL;
}

export interface ServerSignIn {
  readonly issuer: Issuer;
  /** What tokens are asked for; undefined: the server does not say what it is called. */
  readonly resource: string | undefined;
  /** Undefined: it does not say. */
  readonly scopes: readonly string[] | undefined;
}

export interface DiscoverDependencies {
  readonly outbound: Pick<Outbound, 'fetch' | 'checkUrl'>;
  /** Bounded. */
  readonly fetch: typeof globalThis.fetch;
}

const PROBE_MS = 10_000;
const PROTOCOL = '2025-06-18';
/** What makes a server ask who calls: some let anybody begin, and ask as soon as their tools are listed. */
const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'ironcraft', version: '1' } },
};
const LIST_TOOLS = { method: 'tools/list', params: {} };

/** Null: the server takes calls of anybody. `given`: as it refused a call. Throws DiscoveryFailure. */
export async function discoverServer(
  deps: DiscoverDependencies,
  serverUrl: string,
  given?: Challenge,
): Promise<ServerSignIn | null> {
  const sdk = await import('@modelcontextprotocol/client');
  const probe = given === undefined ? await askWithoutToken(deps, serverUrl) : undefined;
  const challenge: Challenge = given ?? (probe === undefined ? {} : sdk.extractWWWAuthenticateParams(probe));
  const resource = await findResource(deps, serverUrl, challenge);
  const address = resource?.authorization_servers?.[0] ?? new URL('/', serverUrl).href;
  const issuer = await discoverIssuer(deps, address);
  if (issuer === undefined && resource === undefined && probe?.ok === true) return null;
  return {
    issuer: issuer ?? (await assumeEndpoints(deps, address)),
    resource: resource?.resource,
    scopes: challenge.scope?.split(' ').filter((scope) => scope !== '') ?? resource?.scopes_supported,
  };
}

/** Its refusal, else what it answers to the first. Undefined: it does not answer, which the metadata will tell more of. */
async function askWithoutToken(deps: DiscoverDependencies, url: string): Promise<Response | undefined> {
  const first = await ask(deps, url, INITIALIZE, {});
  if (first === undefined || first.status === 401) return first;
  const session = first.headers.get('mcp-session-id');
  const next = await ask(deps, url, LIST_TOOLS, {
    'mcp-protocol-version': PROTOCOL,
    ...(session === null ? {} : { 'mcp-session-id': session }),
  });
  return next?.status === 401 ? next : first;
}

async function ask(
  { outbound }: DiscoverDependencies,
  url: string,
  message: object,
  headers: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  const send = outbound.fetch('public', { httpsOnly: true });
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      signal: abortAfter(PROBE_MS),
    });
    await response.body?.cancel();
    return response;
  } catch {
    return undefined;
  }
}

async function findResource(
  { fetch }: DiscoverDependencies,
  serverUrl: string,
  { resourceMetadataUrl }: Challenge,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const sdk = await import('@modelcontextprotocol/client');
  let found: OAuthProtectedResourceMetadata;
  try {
    const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
    found = await sdk.discoverOAuthProtectedResourceMetadata(serverUrl, options, fetch);
  } catch {
    // It has none, or none that can be read: an older server.
    return undefined;
  }
  if (isPartOf(serverUrl, found.resource)) return found;
  throw new DiscoveryFailure('the metadata of the server is that of another resource');
}

/** A token for a resource is good at what lies below it, on the same origin. */
function isPartOf(serverUrl: string, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [server, named] = [new URL(serverUrl), new URL(resource)];
  const below = (path: string) => (path.endsWith('/') ? path : `${path}/`);
  return server.origin === named.origin && below(server.pathname).startsWith(below(named.pathname));
}

async function assumeEndpoints({ outbound }: DiscoverDependencies, address: string): Promise<Issuer> {
  const at = (path: string) => checkEndpoint(outbound, new URL(path, address).href);
  return {
    issuer: address,
    authorizationEndpoint: await at('/authorize'),
    tokenEndpoint: await at('/token'),
    revocationEndpoint: undefined,
    registrationEndpoint: await at('/register'),
    authMethods: undefined,
    scopes: undefined,
    namesItself: false,
    takesDocuments: false,
  };
}
