/**
 * One start on a migrated database, with settings that are not the plain ones: what it loads, the names that it has for itself, its ports,
 * its metrics, its end. The commands of docs/operating.md run beside it and after it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { beginDraining } from '../faults/fleet.ts';
import { logFolder } from '../support/test-log.ts';
import { readLoaded, reportsLoaded } from './loaded-packages.ts';
import { guide, readCommands, readTable, runShell, serveVerbs } from './operating-guide.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import {
  call,
  FREE_PORTS,
  makeFolder,
  openGivenStore,
  pasteLines,
  type ServerProcess,
  startServer,
  type Variables,
  waitFor,
} from './server-process.ts';

const run = promisify(execFile);
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));
/** The address of a server in the guide. */
const SHOWN_URL = 'http://127.0.0.1:8787';
const TIMEOUT_MS = 30_000;
const METRICS_TOKEN = 'a-token-of-the-operator';
const authorization = `Bearer ${METRICS_TOKEN}`;

let folder = '';
let store: Variables = {};
let settings: Variables = {};
let server: ServerProcess;
let metricsUrl = '';
let verbs = '';
const cleanups: Array<() => Promise<void>> = [];
const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };

before(async () => {
  const scratch = await makeFolder(t);
  folder = join(scratch, "it's a folder");
  await mkdir(folder);
  store = await openGivenStore(t);
  const port = await findFreePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  settings = {
    ...store,
    ...reportsLoaded(scratch),
    IRONCRAFT_HOST: hasIpv6 ? '::1' : '127.0.0.1',
    IRONCRAFT_PUBLIC_URL: 'https://agents.example.com/',
    IRONCRAFT_METRICS_PORT: String(port),
    IRONCRAFT_METRICS_TOKEN: METRICS_TOKEN,
    // The longest there is: a server that has nothing in flight does not wait for it.
    IRONCRAFT_DRAIN_SECONDS: '60',
  };
  server = await startServer(t, folder, settings);
  verbs = await serveVerbs(t, (args) => runVerbInProcess(args, folder, { ...FREE_PORTS, ...store }));
});
after(async () => {
  for (const work of cleanups) await work();
});

async function get(url: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { headers });
  return { status: answer.status, text: await answer.text() };
}

test('a server that says it is ready has all its ports open, and both services are ready there', async () => {
  const addresses = [...server.stderr().matchAll(/Server listening at (http:\S+?)"/g)].map(([, address]) => address);
  const services = addresses.filter((address) => !metricsUrl.startsWith(`${address}/`));
  assert.equal(services.length, 2, addresses.join());
  for (const address of services) assert.equal((await get(`${address}/readyz`)).status, 200, address);
});

test('a server that has served nothing has loaded no package that only later work needs', {
  skip: logFolder === undefined ? false : 'what records secrets loads some of them',
}, async () => {
  const ofNode = await readLoaded(server, settings);
  // Node's own fetch.
  assert.ok(!ofNode.some((name) => /deps\/undici/.test(name)));
});

test('metrics move to their own address, ask for their token, and are not found where clients are served', async () => {
  assert.equal((await get(`${server.url}/metrics`, { authorization })).status, 404);
  assert.equal((await get(`${metricsUrl}/platform`)).status, 401);
  const platform = await get(`${metricsUrl}/platform`, { authorization });
  assert.equal(platform.status, 200);
  assert.match(platform.text, /^runs_in_flight 0$/m);
  assert.match(platform.text, /^http_connections_open \d+$/m);
  const domains = await get(`${metricsUrl}/domains`, { authorization });
  assert.match(domains.text, /^domains_ledger_findings /m);
});

test('the metrics that the operating guide names are the ones that are served', async () => {
  const { text } = await get(`${metricsUrl}/platform`, { authorization });
  const served = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  const documented = readTable('metric').map(([name = '']) => name.replaceAll('`', ''));
  const families = documented.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const own = served.filter((name) => !families.some((family) => name.startsWith(family)));
  assert.deepEqual(documented.filter((name) => !name.endsWith('*')).sort(), own.sort());
  for (const [name] of guide.matchAll(/nodejs_\w*[a-z]/g)) assert.ok(served.includes(name) || name === 'nodejs', name);
});

test('clients get the public URL, and the lines to paste work where the folder’s name has to be quoted', async () => {
  assert.match(server.stdout(), /^Ironcraft is ready at https:\/\/agents\.example\.com$/m);
  assert.equal(server.credentials.base_url, 'https://agents.example.com');
  if (!hasCurl) return;
  assert.match(await pasteLines(server), /^event: run\.completed$/m);
});

test('an IPv6 address is bracketed', async (context) => {
  if (!hasIpv6) return context.skip('this machine has no IPv6');
  assert.match(server.url, /^http:\/\/\[::1\]:\d+$/);
});

/** What `readCommands` gives, apart: the commands that ask a server, and those that run without one. */
const commands = Object.groupBy(readCommands(), (text) => (text.includes(SHOWN_URL) ? 'online' : 'offline'));

test('the commands of the operating guide that ask a server work', async (context) => {
  const { online = [] } = commands;
  assert.equal(online.length, 1);
  if (!hasCurl) return context.skip('this machine has no curl');
  for (const text of online) await runShell(folder, verbs, text.replaceAll(SHOWN_URL, server.url));
});

test('a second signal ends a server at once, whatever is in flight', async () => {
  const { tenant_token } = server.credentials;
  const made = await call(server.url, tenant_token, '/v1/smiths', { model: 'builtin/demo' });
  const { id } = (await made.json()) as { id: string };
  const input = [{ role: 'user', content: 'Write 20000 words at 20 words per second' }];
  const turn = await call(server.url, tenant_token, `/v1/smiths/${id}/runs`, { input, stream: true });
  const cutOff = turn.text().catch(() => undefined);
  await beginDraining(server);
  const ended = await waitFor('end at a second signal', TIMEOUT_MS, async () => {
    // An echo of the first within half a second does not count as another.
    server.kill('SIGINT');
    return Promise.race([server.ended, Promise.resolve(undefined)]);
  });
  assert.deepEqual(ended, { code: 130, signal: null });
  await cutOff;
});

test('the commands of the operating guide work in the order in which it gives them', async () => {
  for (const text of commands.offline ?? []) await runShell(folder, verbs, text);
});

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
