/**
 * Somebody else's issuer, by `oidc-provider` (with rotating refresh tokens, and a family that ends when one is used twice), and
 * an MCP server that takes its tokens, on loopback.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import Provider, { type Configuration } from 'oidc-provider';

export interface OAuthUpstream {
  readonly issuer: string;
  /** As `host:port`, for the guard. */
  readonly host: string;
  readonly mcpUrl: string;
  /** A client that is registered by hand. */
  readonly client: { readonly client_id: string; readonly client_secret: string };
  /** What the issuer was asked and granted; `refused`: by its token endpoint, such as a refresh token that was used before. */
  readonly counts: { refreshes: number; codes: number; refused: number; revoked: number; registered: number };
  /** What the MCP server was called with. */
  readonly calls: { readonly token: string; readonly account: string; readonly args: unknown }[];
  /** How long an answer of the token endpoint is under way once it is made. */
  answerDelayMs: () => number;
  /** Seconds that an access token lives, from now on. */
  tokenSeconds: number;
  /** Whom the MCP server names as the issuer of its tokens. */
  namedIssuer: string;
  /** Calls of tools that the MCP server refuses as if their token were not good. */
  refuseCalls: number;
  /** What calls of tools need, of those that the token is for; undefined: nothing. */
  scopeOfCalls: string | undefined;
  /** What answers in place of the token endpoint, while it is set. */
  instead: ((response: ServerResponse) => void) | undefined;
  /** Signs the user in at the link and consents; where the browser is sent back to. */
  visit(link: string): Promise<string>;
  close(): Promise<void>;
}

const CLIENT = { client_id: 'by-hand', client_secret: 'a-secret-of-thirty-two-characters' };
const SCOPES = 'read write offline_access';

export async function startOAuthUpstream(
  redirectUri: string,
  { configure = {} as Configuration } = {},
): Promise<OAuthUpstream> {
  const { features, ...settings } = configure;
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `http://${host}`;
  const mcpUrl = `${issuer}/mcp`;
  const counts = { refreshes: 0, codes: 0, refused: 0, revoked: 0, registered: 0 };
  const calls: { token: string; account: string; args: unknown }[] = [];
  const upstream = {
    ...{
      issuer,
      host,
      mcpUrl,
      client: CLIENT,
      counts,
      calls,
      tokenSeconds: 3_600,
      refuseCalls: 0,
      namedIssuer: issuer,
    },
    instead: undefined as OAuthUpstream['instead'],
    answerDelayMs: () => 0,
    scopeOfCalls: undefined as OAuthUpstream['scopeOfCalls'],
    visit: (link: string) => visit(link, issuer),
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] }],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => mcpUrl,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPES,
          audience: mcpUrl,
          accessTokenFormat: 'opaque',
          accessTokenTTL: upstream.tokenSeconds,
        }),
      },
      ...features,
    },
    scopes: SCOPES.split(' '),
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    cookies: { keys: ['a key of a test'] },
    ttl: {
      AccessToken: () => upstream.tokenSeconds,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 600,
      Interaction: 600,
    },
    ...settings,
  });
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.grant_type === 'refresh_token') counts.refreshes += 1;
    else counts.codes += 1;
  });
  provider.on('grant.error', () => {
    counts.refused += 1;
  });
  provider.on('registration_create.success', () => {
    counts.registered += 1;
  });
  const serve = provider.callback();
  server.on('request', async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', issuer);
    if (pathname.startsWith('/interaction/')) return interact(provider, request, response, mcpUrl);
    if (pathname === '/mcp') return answerMcp(provider, request, response, upstream);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      const metadata = { resource: mcpUrl, authorization_servers: [upstream.namedIssuer], scopes_supported: ['read'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return;
    }
    if (pathname === '/token/revocation') counts.revoked += 1;
    if (pathname === '/token' && upstream.instead !== undefined) return upstream.instead(response);
    if (pathname === '/token') delayAnswer(response, upstream.answerDelayMs());
    serve(request, response);
  });
  return upstream;
}

function delayAnswer(response: ServerResponse, delayMs: number): void {
  if (delayMs === 0) return;
  const end = response.end;
  response.end = (...given: unknown[]) => {
    setTimeout(() => Reflect.apply(end, response, given), delayMs);
    return response;
  };
}

/** Signs in as `ada` and consents to everything. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  resource: string,
): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
  }
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant =
    known ?? new provider.Grant({ accountId: session?.accountId ?? 'ada', clientId: String(params.client_id) });
  grant.addOIDCScope(SCOPES);
  grant.addResourceScope(resource, SCOPES);
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'vault', version: '1' },
  },
  'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
};

async function answerMcp(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Pick<OAuthUpstream, 'issuer' | 'mcpUrl' | 'calls' | 'refuseCalls' | 'scopeOfCalls'>,
): Promise<void> {
  const { issuer, mcpUrl, calls, scopeOfCalls } = upstream;
  const refuse = (status = 401, scope = 'read', error = '') => {
    const metadata = `${issuer}/.well-known/oauth-protected-resource/mcp`;
    const challenge = `Bearer ${error}resource_metadata="${metadata}", scope="${scope}"`;
    response.writeHead(status, { 'www-authenticate': challenge }).end();
  };
  const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
  const found = token === '' ? undefined : await provider.AccessToken.find(token);
  if (found === undefined || found.aud !== mcpUrl) return refuse();
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const message = (await json(request)) as { id?: number; method: string; params?: { arguments?: unknown } };
  if (message.id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const isCall = message.method === 'tools/call';
  if (isCall && upstream.refuseCalls > 0) {
    upstream.refuseCalls -= 1;
    return refuse();
  }
  if (isCall && scopeOfCalls !== undefined && !found.scopes.has(scopeOfCalls)) {
    return refuse(403, scopeOfCalls, 'error="insufficient_scope", ');
  }
  const account = found.accountId;
  if (isCall) calls.push({ token, account, args: message.params?.arguments });
  const result = RESULTS[message.method];
  const isKnown = result !== undefined || isCall;
  const body = isKnown
    ? { result: result ?? { content: [{ type: 'text', text: `You are ${account}.` }] } }
    : { error: { code: -32_601, message: 'no such method' } };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }));
}

/** As a browser does, with its cookies, until it is sent to somebody else. */
async function visit(link: string, issuer: string): Promise<string> {
  const cookies = new Map<string, string>();
  for (let url = link, hops = 0; hops < 12; hops += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const each of response.headers.getSetCookie()) {
      const [pair = ''] = each.split(';');
      const at = pair.indexOf('=');
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the issuer answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
    if (!url.startsWith(issuer)) return url;
  }
  throw new Error('the issuer redirects without end');
}
