/**
 * Addresses of MCP servers that are none of a tenant's business: refused as they are registered or brought with a request, and at each hop of each request. What
 * watches is this process itself, which tells of every connection that it tries.
 */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Share, takeTurns } from '../conformance/take-turns.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { HOSTILE_ANSWERS, listHostileUrls } from './addresses.ts';

/** Documented as public; nothing here ever connects to it, for names that have it are asked again. */
const PUBLIC = { address: '93.184.215.14', family: 4 } as const;
/** Longer than anything takes here. */
const limits = { connectMs: 120_000, listMs: 120_000, callMs: 120_000 };

/** Declares the tests of all addresses and redirects, or of some of them. */
export function testMcpAddresses(share: Share): void {
  /** All, or one in so many. */
  function choose<Item>(items: readonly Item[], oneIn: number): readonly Item[] {
    return share === 'all' ? items : items.filter((_, index) => index % oneIn === 0);
  }

  /** Something that nobody may reach. */
  const listener: Server = createServer((socket) => socket.destroy());
  /** A server that a tenant may register, and that sends its callers elsewhere. */
  const redirector = createHttpServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => answer(request.url ?? '', text === '' ? undefined : JSON.parse(text), response));
  });

  let platform: TestPlatform;
  let project: TestProject;
  let listenerPort = 0;
  let redirectorPort = 0;
  let accepted = 0;
  /** Connections that this process tried to make, but those of the test to its own servers. */
  let attempts: string[] = [];
  /** Of names: what DNS answers, one after another, the last one ever after. */
  const answers = new Map<string, (readonly { address: string; family: 4 | 6 }[])[]>();

  function watchSocket(message: unknown): void {
    const { socket } = message as { socket: Socket };
    socket.on('connectionAttempt', (address: string, port: number) => attempts.push(`${address}:${port}`));
  }

  before(async () => {
    for (const server of [listener, redirector]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    listener.on('connection', () => {
      accepted += 1;
    });
    listenerPort = (listener.address() as AddressInfo).port;
    redirectorPort = (redirector.address() as AddressInfo).port;
    platform = await startPlatform({
      outboundAllow: [`127.0.0.1:${redirectorPort}`],
      mcpLimits: limits,
      lookup: async (hostname) => {
        const given = answers.get(hostname);
        const next = given?.length === 1 ? given[0] : given?.shift();
        if (next === undefined) throw new Error(`nobody knows ${hostname}`);
        return next;
      },
    });
    project = await platform.createProject();
    subscribe('net.client.socket', watchSocket);
  });
  after(async () => {
    unsubscribe('net.client.socket', watchSocket);
    await platform.close();
    redirector.closeAllConnections();
    redirector.close();
    listener.close();
  });

  /** What was tried beyond the test's own servers and the store while `work` was under way. */
  async function watch(work: () => Promise<void>): Promise<string[]> {
    attempts = [];
    accepted = 0;
    await work();
    const database = platform.databaseUrl === undefined ? [] : [new URL(platform.databaseUrl).port];
    const own = new Set(
      [new URL(platform.url).port, String(redirectorPort), ...database].map((port) => `127.0.0.1:${port}`),
    );
    return [...attempts.filter((each) => !own.has(each)), ...Array.from({ length: accepted }, () => 'accepted')];
  }

  let registered = 0;
  async function register(url: string): Promise<string> {
    registered += 1;
    const name = `s${registered}`;
    const { status, text } = await project.put(`/v1/tenant/mcp/${name}`, { url });
    assert.equal(status, 201, `${url}: ${text}`);
    return name;
  }

  /** A name that answers with these, one after the other. */
  function nameWith(...given: (readonly { address: string; family: 4 | 6 }[])[]): string {
    const name = `n${answers.size}.example`;
    answers.set(name, given);
    return name;
  }

  async function assertRefused(url: string, what: string): Promise<void> {
    const { status, body } = await project.put('/v1/tenant/mcp/hostile', { url });
    assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_url', 'url'], `${what}: ${url}`);
  }

  test('a connection that is made is seen', async () => {
    const seen = await watch(async () => {
      await assert.rejects(fetch(`https://127.0.0.1:${listenerPort}/`));
    });
    assert.deepEqual(seen, [`127.0.0.1:${listenerPort}`, 'accepted']);
  });

  describe('registering', () => {
    test('an address that is not public, in any form, is refused and never called', async () => {
      const decoy = nameWith([PUBLIC]);
      const urls = listHostileUrls(listenerPort, decoy);
      assert.equal(urls.length, 370);
      const seen = await watch(async () => {
        for (const { what, url } of choose(urls, 4)) await assertRefused(url, what);
      });
      assert.deepEqual(seen, []);
    });

    test('a name that has such an address, alone or beside a public one, is refused', async () => {
      assert.equal(HOSTILE_ANSWERS.length, 45);
      const seen = await watch(async () => {
        for (const [index, each] of HOSTILE_ANSWERS.entries()) {
          for (const given of takeTurns(share, [[each], [PUBLIC, each], [each, PUBLIC]], index, 1)) {
            await assertRefused(`https://${nameWith(given)}:${listenerPort}/mcp`, JSON.stringify(given));
          }
        }
      });
      assert.deepEqual(seen, []);
    });
  });

  test('a name that has such an address once it is registered is not called', async () => {
    let count = 0;
    const seen = await watch(async () => {
      for (const each of choose(HOSTILE_ANSWERS, 3)) {
        const name = await register(
          `https://${nameWith([PUBLIC], count % 2 === 0 ? [each] : [PUBLIC, each])}:${listenerPort}/mcp`,
        );
        const { status, body } = await project.post(`/v1/tenant/mcp/${name}/refresh`);
        assert.deepEqual([status, body.error.code], [502, 'connect_failed'], JSON.stringify(each));
        assert.match(body.error.message, /does not resolve to public addresses alone/);
        assert.equal((await project.get(`/v1/tenant/mcp/${name}`)).body.status, 'unreachable');
        assert.equal((await project.delete(`/v1/tenant/mcp/${name}`)).status, 204);
        count += 1;
      }
    });
    assert.deepEqual([seen, count], [[], share === 'all' ? 45 : 15]);
  });

  describe('brought with a request', () => {
    let smithId = '';
    before(async () => {
      smithId = await project.createSmith();
    });
    const respond = (server_url: string) =>
      project.post(
        '/v1/responses',
        { input: 'Hi', tools: [{ type: 'mcp', server_label: 'hostile', server_url }] },
        { 'ic-smith-id': smithId },
      );

    test('an address that is not public is refused, and no turn begins', async () => {
      const urls = listHostileUrls(listenerPort, nameWith([PUBLIC])).map(({ url }) => url);
      const names = HOSTILE_ANSWERS.map((each) => `https://${nameWith([PUBLIC, each])}:${listenerPort}/mcp`);
      const seen = await watch(async () => {
        for (const url of [...choose(urls, 8), ...choose(names, 3)]) {
          const { status, body } = await respond(url);
          assert.deepEqual(
            [status, body.error?.code, body.error?.param],
            [422, 'invalid_url', 'tools.0.server_url'],
            url,
          );
        }
      });
      assert.deepEqual(seen, []);
      assert.deepEqual((await project.get(`/v1/smiths/${smithId}/runs`)).body.data, []);
    });

    test('a name that has one once the turn has begun is not called', async () => {
      const seen = await watch(async () => {
        for (const each of choose(HOSTILE_ANSWERS, 3)) {
          const { body } = await respond(`https://${nameWith([PUBLIC], [each])}:${listenerPort}/mcp`);
          assert.deepEqual([body.status, body.error?.code], ['failed', 'invalid_url'], JSON.stringify(each));
          assert.match(body.error.message, /does not resolve to public addresses alone/);
        }
      });
      assert.deepEqual(seen, []);
    });

    test('nor is what it redirects to', async () => {
      const seen = await watch(async () => {
        for (const hop of ['at once', 'its list'] satisfies Hop[]) {
          for (const location of [`https://127.0.0.1:${listenerPort}/`, 'http://169.254.169.254/latest']) {
            const place = `r${places.size}`;
            places.set(place, JSON.stringify({ hop, status: 307, location }));
            const { body } = await respond(`http://127.0.0.1:${redirectorPort}/${place}`);
            assert.deepEqual([body.status, body.error?.code], ['failed', 'invalid_url'], JSON.stringify(body.error));
          }
        }
      });
      assert.deepEqual(seen, []);
    });
  });

  /** How the redirector sends elsewhere, by the first part of its path, and where to, by the second. */
  const places = new Map<string, string>();
  const HOPS = ['at once', 'after a hop', 'its list', 'its call', 'its stream', 'its endpoint'] as const;
  type Hop = (typeof HOPS)[number];

  function answer(
    path: string,
    message: { id?: unknown; method?: string } | undefined,
    response: ServerResponse,
  ): ServerResponse {
    const [, place = '', second] = path.split('/');
    const found = places.get(place);
    assert.ok(found);
    const { hop, status, location } = JSON.parse(found) as { hop: Hop; status: number; location: string };
    const redirect = (to = location) => response.writeHead(status, { location: to }).end();
    const method = message?.method;
    switch (hop) {
      case 'at once':
        return redirect();
      case 'after a hop':
        return redirect(second === undefined ? `/${place}/second` : location);
      case 'its stream':
        return method === undefined ? redirect() : response.writeHead(405).end();
      case 'its endpoint':
        if (method !== undefined) return response.writeHead(405).end();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`event: endpoint\ndata: ${location}\n\n`);
        return response;
      default:
        break;
    }
    const isHere = hop === 'its list' ? 'tools/list' : 'tools/call';
    if (method === isHere) return redirect();
    if (method === undefined) return response.writeHead(405).end();
    if (message?.id === undefined) return response.writeHead(202).end();
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'redirector', version: '1' },
      },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    };
    const result = results[method];
    const said = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id: message?.id, ...said }));
  }

  test('a server that sends elsewhere, at any hop, is not followed to what is not public', async () => {
    const rebinding = nameWith([{ address: '127.0.0.1', family: 4 }]);
    const targets = [
      `https://127.0.0.1:${listenerPort}/`,
      `http://127.0.0.1:${listenerPort}/`,
      `//127.0.0.1:${listenerPort}/`,
      `https://2130706433:${listenerPort}/`,
      `https://[::ffff:7f00:1]:${listenerPort}/`,
      `https://${rebinding}:${listenerPort}/`,
      'https://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      `https://user:pass@127.0.0.1:${listenerPort}/`,
      'file:///etc/passwd',
    ];
    const smithId = await project.createSmith();
    let [count, turn] = [0, 0];
    const seen = await watch(async () => {
      for (const hop of HOPS) {
        for (const status of hop === 'at once' ? [301, 302, 303, 307, 308] : [307]) {
          turn += 1;
          for (const location of takeTurns(share, targets, turn, 3)) {
            count += 1;
            const place = `p${count}`;
            places.set(place, JSON.stringify({ hop, status, location }));
            const name = await register(`http://127.0.0.1:${redirectorPort}/${place}`);
            const refreshed = await project.post(`/v1/tenant/mcp/${name}/refresh`);
            const what = `${hop}, ${status}, ${location}`;
            if (hop === 'its call') {
              assert.equal(refreshed.status, 200, `${what}: ${refreshed.text}`);
              const run = await project.post(`/v1/smiths/${smithId}/runs`, {
                input: [{ role: 'user', content: `Call the tool ${name}__echo with {}` }],
              });
              assert.deepEqual([run.body.status, run.body.output.tool_calls[0].status], ['completed', 'failed'], what);
            } else {
              assert.equal(refreshed.status, 502, `${what}: ${refreshed.text}`);
              assert.match(refreshed.body.error.code, /^(?:connect|discovery)_failed$/, what);
            }
            assert.equal((await project.delete(`/v1/tenant/mcp/${name}`)).status, 204);
          }
        }
      }
    });
    assert.deepEqual([seen, count], [[], share === 'all' ? 100 : 30]);
  });
}
