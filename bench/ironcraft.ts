/** The server under test: the program itself in a process and a data folder of its own. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import Type, { type Static } from 'typebox';
import { Parse } from 'typebox/value';
import { OwnProcess } from './child-process.ts';
import type { HttpRequest } from './load/jobs.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** The embedded store's first start makes its folder. */
const BOOT_TIMEOUT_MS = 120_000;
const UNLIMITED = '1000000000';

const Credentials = Type.Object({
  base_url: Type.String(),
  organization_key: Type.String(),
  project_id: Type.String(),
  tenant_token: Type.String(),
});
type Credentials = Static<typeof Credentials>;

export interface Ironcraft {
  readonly host: string;
  readonly port: number;
  readonly domainsPort: number;
  readonly pid: number;
  readonly credentials: Credentials;
  /** Sends JSON, gives JSON. Throws unless the answer is 2xx. */
  call(token: string, method: string, path: string, body?: unknown): Promise<unknown>;
  /** The same to the domain service, whose base path is left out. An empty token sends none. */
  callDomains(token: string, method: string, path: string, body?: unknown): Promise<unknown>;
  /** Runs a command line of the program beside it. Its output. */
  runVerb(...args: string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Its limits are raised out of the way: the benchmark measures what the server can do, not what it would grant. */
export async function startIroncraft(parts: {
  databaseUrl: string | undefined;
  profileDir: string | undefined;
  /** Settings besides. */
  variables?: Readonly<Record<string, string>>;
}): Promise<Ironcraft> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-'));
  const dataDir = join(folder, 'data');
  const host = '127.0.0.1';
  const port = await findFreePort(host);
  const domainsPort = await findFreePort(host);
  const profiling = parts.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(parts.profileDir)}`];
  const start = readStart();
  const env = {
    ...start.env,
    IRONCRAFT_HOST: host,
    IRONCRAFT_PORT: String(port),
    IRONCRAFT_DOMAINS_PORT: String(domainsPort),
    // Enough for as many names as a run can buy.
    IRONCRAFT_DOMAINS_DEMO_CREDIT_CENTS: '100000000',
    IRONCRAFT_DOMAINS_DNS_PORT: '0',
    IRONCRAFT_DATA_DIR: dataDir,
    IRONCRAFT_LOG_LEVEL: 'warn',
    // The model servers that it is measured with are on this machine.
    IRONCRAFT_OUTBOUND_ALLOW: host,
    IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE: UNLIMITED,
    IRONCRAFT_PROJECT_RUNS_IN_FLIGHT: UNLIMITED,
    IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE: UNLIMITED,
    ...(parts.databaseUrl !== undefined && { IRONCRAFT_DATABASE_URL: parts.databaseUrl }),
    ...parts.variables,
  };
  // Not the checkout: its .env is for whoever works there.
  const server = new OwnProcess({
    args: [...profiling, ...start.args],
    cwd: folder,
    logPath: join(folder, 'server.log'),
    env,
  });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const base = `http://${host}:${port}`;
  try {
    const credentials = await server.waitFor('a ready server', BOOT_TIMEOUT_MS, async () => {
      for (const each of [port, domainsPort]) {
        if (!(await fetch(`http://${host}:${each}/readyz`)).ok) return undefined;
      }
      return Parse(Credentials, JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')));
    });
    const call: Ironcraft['call'] = (token, method, path, body) => callJson(base, token, method, path, body);
    const callDomains: Ironcraft['callDomains'] = (token, method, path, body) =>
      callJson(`http://${host}:${domainsPort}/api/v1`, token, method, path, body);
    const runVerb: Ironcraft['runVerb'] = async (...args) => {
      const main = join(ROOT, 'src/main.js');
      return (await promisify(execFile)(process.execPath, [main, ...args], { cwd: folder, env })).stdout;
    };
    return { host, port, domainsPort, pid: server.pid, credentials, call, callDomains, runVerb, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What `npm start` gives to Node, so that the server runs with the same flags and in the same environment as a user's. */
function readStart(): { args: string[]; env: Readonly<Record<string, string>> } {
  const Manifest = Type.Object({ scripts: Type.Object({ start: Type.String() }) });
  const { start } = Parse(Manifest, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).scripts;
  const [, variables = '', command] = /^(?:exec )?(?:env )?((?:[A-Z_]+=\S* )*)node (.+)$/.exec(start) ?? [];
  if (command === undefined) throw new Error(`the start script of package.json does not run node: ${start}`);
  return {
    args: command.split(' ').map((each) => (each.endsWith('.js') ? join(ROOT, each) : each)),
    env: Object.fromEntries(
      Array.from(variables.matchAll(/([A-Z_]+)=(\S*)/g), ([, name = '', value = '']) => [name, value]),
    ),
  };
}

async function callJson(base: string, token: string, method: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return text === '' ? undefined : JSON.parse(text);
}

export async function findFreePort(host: string): Promise<number> {
  const probe = createServer();
  return await new Promise((resolvePort, reject) => {
    probe.once('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === 'object' && address !== null) resolvePort(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}

/** A request for the load generator that starts a run of the smith: a thread of its own, one user message. */
export function runRequest(server: Ironcraft, smithId: string, message: string, stream: boolean): HttpRequest {
  return {
    method: 'POST',
    path: `/v1/smiths/${smithId}/runs`,
    headers: { authorization: `Bearer ${server.credentials.tenant_token}` },
    body: JSON.stringify({ input: [{ role: 'user', content: message }], stream }),
    ...(!stream && { expect: '"status":"completed"' }),
  };
}
