/** A real PowerDNS (Debian: pdns-server and pdns-backend-sqlite3) on loopback, with a folder and a database of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { requireProgram } from './programs.ts';

export interface PowerDns {
  /** The web interface's address. */
  readonly url: string;
  readonly apiKey: string;
  /** Answers queries, by UDP and TCP. */
  readonly port: number;
  /** The SQLite file behind it. */
  readonly databaseFile: string;
  /** Asks the API; the parsed answer. Rejects for anything but success. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  ask(path: string): Promise<any>;
  /** Ends the server at once; what it has stored stays. */
  kill(): Promise<void>;
  /** Starts it again, on the same ports. */
  start(): Promise<void>;
  /** Ends the server and removes its folder. */
  close(): Promise<void>;
}

export const powerDnsMissing = 'PowerDNS is not installed: Debian has it in pdns-server and pdns-backend-sqlite3';

export const schemaFile = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql';
const API_KEY = 'key-of-the-test';
const START_MS = 60_000;
const POLL_MS = 20;
const START_ATTEMPTS = 3;

export function hasPowerDns(): boolean {
  const isInstalled =
    existsSync(schemaFile) && spawnSync('pdns_server', ['--version'], { stdio: 'ignore' }).error === undefined;
  return requireProgram(isInstalled, powerDnsMissing);
}

export async function startPowerDns(): Promise<PowerDns> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-pdns-'));
  const databaseFile = join(folder, 'zones.sqlite');
  const database = new DatabaseSync(databaseFile);
  database.exec(readFileSync(schemaFile, 'utf8'));
  database.close();
  for (let attempt = 1; ; attempt += 1) {
    const ports = { dns: await findDnsPort(), web: await findTcpPort() };
    try {
      return await startOn(ports, folder, databaseFile);
    } catch (error) {
      // Someone else took a port in between.
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

interface Ports {
  readonly dns: number;
  readonly web: number;
}

async function startOn(ports: Ports, folder: string, databaseFile: string): Promise<PowerDns> {
  const url = `http://127.0.0.1:${ports.web}`;
  let child = await launch(ports, folder, databaseFile);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  return {
    url,
    apiKey: API_KEY,
    port: ports.dns,
    databaseFile,
    async ask(path) {
      const answer = await fetch(`${url}/api/v1/servers/localhost${path}`, { headers: { 'x-api-key': API_KEY } });
      if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
      return answer.json();
    },
    kill,
    async start() {
      child = await launch(ports, folder, databaseFile);
    },
    async close() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the API answers. */
async function launch({ dns, web }: Ports, folder: string, databaseFile: string): Promise<ChildProcess> {
  const settings = {
    launch: 'gsqlite3',
    'gsqlite3-database': databaseFile,
    'gsqlite3-dnssec': 'yes',
    api: 'yes',
    'api-key': API_KEY,
    'webserver-address': '127.0.0.1',
    'webserver-port': web,
    'webserver-allow-from': '127.0.0.1',
    'local-address': '127.0.0.1',
    'local-port': dns,
    'socket-dir': folder,
    'security-poll-suffix': '',
    'disable-syslog': 'yes',
    daemon: 'no',
    guardian: 'no',
  };
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const child = spawn('pdns_server', ['--no-config', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const deadlineMs = performance.now() + START_MS;
  while (!(await answers(web))) {
    if (child.exitCode !== null) throw new Error(`pdns_server ended early:\n${log}`);
    if (performance.now() > deadlineMs) {
      child.kill('SIGKILL');
      throw new Error(`pdns_server did not answer within ${START_MS} ms:\n${log}`);
    }
    await wait(POLL_MS);
  }
  return child;
}

async function answers(port: number): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${port}/api/v1/servers`, { headers: { 'x-api-key': API_KEY } });
    return ok;
  } catch {
    return false;
  }
}

/** Free for UDP and TCP; the server cannot be told to take any. */
export async function findDnsPort(): Promise<number> {
  for (;;) {
    const port = await findTcpPort();
    if (await isUdpFree(port)) return port;
  }
}

function findTcpPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function isUdpFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').once('error', () => resolve(false));
    socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
  });
}
