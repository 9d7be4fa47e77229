/** The protocol's own client, given the address of an MCP server and nothing else: it finds out whom to ask, is let in, and calls a tool. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { type McpDeployment, publishMcp } from '../../../../test/support/mcp-deployment.ts';
import { openAuthorize, redirectOf, requestIn, sendConsent } from '../../../../test/support/oauth.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

const ofTests = (part: string) =>
  readFileSync(new URL(`../../../../test/epp/tls/test-only-localhost.${part}`, import.meta.url), 'utf8');
const cert = ofTests('crt');
const trusted = getCACertificates('default');

let platform: TestPlatform;
let project: TestProject;
let server: McpDeployment;
let documents: Server;
let documentUrl: string;
before(async () => {
  setDefaultCACertificates([...trusted, cert]);
  documents = createServer({ cert, key: ofTests('key') }, (_, response) => {
    const document = {
      client_id: documentUrl,
      client_name: 'Documented',
      redirect_uris: ['http://localhost/callback'],
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  }).listen(0, '127.0.0.1');
  await once(documents, 'listening');
  const { port } = documents.address() as AddressInfo;
  platform = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'] });
  project = await platform.createProject();
  server = await publishMcp(project, { type: 'smith', id: await project.createSmith() });
  documentUrl = `https://127.0.0.1:${port}/client.json`;
});
after(async () => {
  documents.closeAllConnections();
  documents.close();
  setDefaultCACertificates(trusted);
  await platform.close();
});

/** A client's own store, as an application has it. `location`: where it sent its person. */
class Store implements OAuthClientProvider {
  readonly redirectUrl = 'http://localhost:57470/callback';
  readonly clientMetadata = { client_name: 'Stock client', redirect_uris: [this.redirectUrl] };
  readonly clientMetadataUrl?: string;
  location: URL | undefined;
  saved: StoredOAuthTokens | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #verifier = '';

  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }
  state = () => 'state';
  clientInformation = () => this.#client;
  saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.#client = client;
  };
  tokens = () => this.saved;
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.saved = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.location = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
}

/** What a person does in the browser: opens the page, pastes a token, and is sent back. */
async function approve(location: URL): Promise<URLSearchParams> {
  const page = await openAuthorize(platform.url, Object.fromEntries(location.searchParams));
  return redirectOf(await sendConsent(platform.url, { request: requestIn(page), token: project.token })).searchParams;
}

for (const mode of ['legacy', 'auto'] as const) {
  for (const how of ['registration', 'a metadata document'] as const) {
    test(`${mode}, by ${how}: from the address alone to a tool, and on after the hour`, async () => {
      const store = new Store(how === 'registration' ? undefined : documentUrl);
      const connect = async () => {
        const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
        const transport = new StreamableHTTPClientTransport(new URL(platform.url + server.path), {
          authProvider: store,
        });
        return { client, transport, done: client.connect(transport) };
      };
      const first = await connect();
      await assert.rejects(first.done, UnauthorizedError);
      assert.ok(store.location);
      assert.equal(store.location.searchParams.get('scope'), 'runs:write');
      assert.equal(store.location.searchParams.get('client_id') === documentUrl, how === 'a metadata document');
      await first.transport.finishAuth(await approve(store.location));

      const second = await connect();
      await second.done;
      const { content } = await second.client.callTool({ name: 'ask', arguments: { message: 'Write 2 words' } });
      assert.ok(JSON.stringify(content).length > 20);

      // As if an hour had passed: what it holds is good for nothing any more, and it renews that by itself.
      const before = store.saved;
      assert.ok(before?.refresh_token);
      store.saved = { ...before, access_token: `${before.access_token.slice(0, -4)}AAAA` };
      assert.equal((await second.client.listTools()).tools.length, 2);
      assert.notEqual(store.saved?.refresh_token, before.refresh_token);
      await second.client.close();
    });
  }
}
