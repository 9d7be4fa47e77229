/**
 * Addresses that tenants, end users and what discovery points at name, and that are none of theirs: refused, and never
 * connected to. What watches is this process itself, which tells of every connection that it tries.
 */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { type Share, takeTurns } from '../conformance/take-turns.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { listHostileUrls } from './addresses.ts';

/** Declares the tests of many addresses, or of some of them. */
export function testIssuerAddresses(share: Share): void {
  /** All, or one in three. */
  function choose<Item>(items: readonly Item[]): readonly Item[] {
    return share === 'all' ? items : items.filter((_, index) => index % 3 === 0);
  }

  const listener = createServer((socket) => socket.destroy());
  /** An issuer and an MCP server whose metadata has what a test says, at the path of a case. */
  const pointer = createHttpServer((request, response) => {
    const [, place = ''] = /case-(\d+)/.exec(request.url ?? '') ?? [];
    const found = documents.get(place)?.(request.url ?? '');
    if (found === undefined) return response.writeHead(404).end();
    if (typeof found === 'string') {
      const location = found.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
      return response.writeHead(302, { location }).end();
    }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  });
  /** By case: a document, where to redirect, or nothing. */
  const documents = new Map<string, (path: string) => object | string | undefined>();

  let platform: TestPlatform;
  let p: TestProject;
  let base = '';
  let hostile: readonly string[] = [];
  let attempts: string[] = [];

  function watchSocket(message: unknown): void {
    const { socket } = message as { socket: Socket };
    socket.on('connectionAttempt', (address: string, port: number) => attempts.push(`${address}:${port}`));
  }

  before(async () => {
    for (const server of [listener, pointer]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    const listenerPort = (listener.address() as AddressInfo).port;
    base = `http://127.0.0.1:${(pointer.address() as AddressInfo).port}`;
    const decoy = 'decoy.example';
    platform = await startPlatform({
      outboundAllow: [new URL(base).host],
      lookup: async (hostname) => {
        if (hostname !== decoy) throw new Error(`nobody knows ${hostname}`);
        return [{ address: '93.184.215.14', family: 4 }];
      },
    });
    p = await platform.createProject();
    // Each kind of address is several times in the list.
    hostile = listHostileUrls(listenerPort, decoy)
      .map(({ url }) => url)
      .filter((_, index) => index % (share === 'all' ? 2 : 6) === 0);
    subscribe('net.client.socket', watchSocket);
  });
  after(async () => {
    unsubscribe('net.client.socket', watchSocket);
    await platform.close();
    pointer.closeAllConnections();
    pointer.close();
    listener.close();
  });

  /** What was tried beyond the test's own servers and the store. */
  async function watch(work: () => Promise<void>): Promise<string[]> {
    attempts = [];
    await work();
    const database = platform.databaseUrl === undefined ? [] : [new URL(platform.databaseUrl).port];
    const own = new Set(
      [new URL(platform.url).port, new URL(base).port, ...database].map((port) => `127.0.0.1:${port}`),
    );
    return attempts.filter((each) => !own.has(each));
  }

  let cases = 0;
  /** A place whose documents are these. */
  function placeOf(answer: (path: string, address: string) => object | string | undefined): string {
    cases += 1;
    const address = `${base}/case-${cases}`;
    documents.set(String(cases), (path) => answer(path, address));
    return address;
  }

  const MEMBERS = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'];
  const metadataOf = (issuer: string) => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ['code'],
  });

  test('an address of a provider that is not public is refused', async () => {
    const good = { authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token` };
    let count = 0;
    const seen = await watch(async () => {
      for (const [index, url] of hostile.entries()) {
        const members = ['issuer', 'authorization_endpoint', 'token_endpoint', 'revocation_endpoint'];
        for (const member of takeTurns(share, members, index, 1)) {
          const { status, body } = await p.put('/v1/tenant/providers/hostile', {
            client_id: 'c',
            ...good,
            [member]: url,
          });
          assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_url', member], url);
          count += 1;
        }
      }
    });
    assert.deepEqual(seen, []);
    assert.ok(count >= (share === 'all' ? 200 : 50), String(count));
  });

  test('a token endpoint that an end user names is not called', async () => {
    const saved = await p.put('/v1/tenant/providers/good', {
      client_id: 'c',
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
    });
    assert.equal(saved.status, 200, saved.text);
    const smithId = await p.createSmith();
    const seen = await watch(async () => {
      for (const token_uri of choose(hostile)) {
        const credential = { kind: 'oauth2', access_token: 'a', refresh_token: 'b', token_uri };
        const { status, body } = await p.post(`/v1/smiths/${smithId}/connections`, { provider: 'good', credential });
        assert.deepEqual([status, body.error?.code], [422, 'invalid_url'], token_uri);
      }
    });
    assert.deepEqual(seen, []);
  });

  test('what the metadata of an issuer points at is not called, nor shown to a browser', async () => {
    const seen = await watch(async () => {
      const urls = ['javascript:alert(1)', 'data:text/html,x', ...choose(hostile)];
      for (const [index, url] of urls.entries()) {
        const member = MEMBERS[index % MEMBERS.length] ?? '';
        const issuer = placeOf((_, address) => ({ ...metadataOf(address), [member]: url }));
        const { status, body, text } = await p.put('/v1/tenant/providers/pointed', { client_id: 'c', issuer });
        assert.deepEqual([status, body.error?.code], [502, 'discovery_failed'], `${member} ${url}: ${text}`);
      }
    });
    assert.deepEqual(seen, []);
  });

  test('what an MCP server names as its issuer, and where it redirects to, is not called', async () => {
    const smithId = await p.createSmith();
    const seen = await watch(async () => {
      for (const [index, url] of choose(hostile).entries()) {
        const answers: ((path: string, address: string) => object | string | undefined)[] = [
          (path, resource) =>
            path.includes('oauth-protected-resource') ? { resource, authorization_servers: [url] } : undefined,
          () => url,
        ];
        for (const answer of answers.slice(index % 2, (index % 2) + 1)) {
          const put = await p.put('/v1/tenant/mcp/hostile', { url: placeOf(answer), auth: { kind: 'oauth' } });
          assert.ok(put.status < 300, put.text);
          const asked = await p.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'mcp:hostile' });
          assert.ok([422, 502].includes(asked.status), `${url}: ${asked.text}`);
        }
      }
    });
    assert.deepEqual(seen, []);
  });
}
