/** The program as an operator runs it: real processes with a folder and an environment of their own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Credentials } from '../../src/platform/boot/credentials-file.ts';
import { openTestDatabase, testServerUrl } from '../support/database.ts';
import { poll } from '../support/poll.ts';
import { logFolder, recorder } from '../support/test-log.ts';

export const mainFile = fileURLToPath(new URL('../../src/main.js', import.meta.url));

/** The first start of an embedded database on a busy machine. */
const READY_MS = 90_000;

/**
 * A server of a test lives for seconds: to optimise the embedded store's code for it takes a quarter of all the processor time of
 * its start, in threads beside it, and pays later.
 */
const FLAGS = ['--liftoff-only', ...(logFolder === undefined ? [] : [`--import=${recorder}`])];
/** What is kept of a server's log is all of it, unless its test wants otherwise. */
const KEPT_LOG = logFolder === undefined ? {} : { IRONCRAFT_LOG_LEVEL: 'trace', TEST_LOG_FOLDER: logFolder };

/** So that any number of servers run beside each other. */
export const FREE_PORTS = {
  IRONCRAFT_PORT: '0',
  IRONCRAFT_DOMAINS_PORT: '0',
  IRONCRAFT_DOMAINS_DNS_PORT: '0',
} as const;

export type Variables = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  readonly dataDir: string;
  readonly credentials: Credentials;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
  /** Drains the server and waits for its end. */
  stop(): Promise<Ended>;
}

interface Cleanup {
  after(work: () => Promise<void>): void;
}

/** A folder that goes away with the test. */
export async function makeFolder(t: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'boot-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The settings of a store for a test that is not about the store: a migrated database of the server, where one is given, on which a start
 * computes half as much as on an embedded store of its own.
 */
export async function openGivenStore(t: Cleanup): Promise<Variables> {
  if (testServerUrl() === undefined) return {};
  const { url = '', close } = await openTestDatabase({ store: 'server', poolSize: 1 });
  t.after(close);
  return { IRONCRAFT_DATABASE_URL: url };
}

/**
 * Starts `serve` on a free port and waits until it says that it is ready. It is killed, at the latest, with the test. With
 * `only` the domain service, `url` is its base URL, `/api/v1` included. `program` is a file to run in place of the program's own.
 */
export async function startServer(
  t: Cleanup,
  folder: string,
  variables: Variables = {},
  { only, program }: { readonly only?: 'platform' | 'domains' | undefined; readonly program?: string | undefined } = {},
): Promise<ServerProcess> {
  const args = only === undefined ? ['serve'] : ['serve', '--only', only];
  const process_ = launch(args, folder, { ...FREE_PORTS, ...variables }, program);
  t.after(async () => {
    process_.child.kill('SIGKILL');
    await process_.ended;
  });
  const url = await waitFor('a ready server', READY_MS, async () => {
    if (process_.child.exitCode !== null || process_.child.signalCode !== null)
      throw new Error(`serve ended early:\n${process_.stderr()}`);
    if (only === 'domains') return /is served at (\S+)\n/.exec(process_.stdout())?.[1];
    return /^ {2}listening +(\S+)$/m.exec(process_.stdout())?.[1] ?? /ready at (\S+)\n/.exec(process_.stdout())?.[1];
  });
  const dataDir = variables.IRONCRAFT_DATA_DIR ?? join(folder, '.ironcraft');
  return {
    pid: process_.child.pid ?? 0,
    url,
    dataDir,
    credentials: await readCredentials(dataDir),
    stdout: process_.stdout,
    stderr: process_.stderr,
    kill: (signal) => void process_.child.kill(signal),
    ended: process_.ended,
    stop() {
      process_.child.kill('SIGTERM');
      return process_.ended;
    },
  };
}

/** Runs one command line to its end. */
export async function runVerb(args: readonly string[], folder: string, variables: Variables = {}) {
  const process_ = launch(args, folder, variables);
  const { code } = await process_.ended;
  return { code, stdout: process_.stdout(), stderr: process_.stderr() };
}

/** Polls until the work gives a value. */
export async function waitFor<Value>(
  what: string,
  timeoutMs: number,
  work: () => Promise<Value | undefined>,
): Promise<Value> {
  const value = await poll(work, timeoutMs);
  if (value === undefined) throw new Error(`no ${what} within ${timeoutMs} ms`);
  return value;
}

/**
 * Asks again while the server sheds load, as clients do: it has just started, or the machine has too much to do. One that is
 * going away says so under the same code, and is not waited for.
 */
export function outwaitLoad<Reply>(
  ask: () => Promise<Reply>,
  textOf: (reply: Reply) => Promise<string> | string,
): Promise<Reply> {
  return waitFor('answer of a server that sheds no load', READY_MS, async () => {
    const reply = await ask();
    const text = await textOf(reply);
    return text.includes('service_overloaded') && !text.includes('server is going away') ? undefined : reply;
  });
}

/** The same for a response that is read on, such as a stream. */
export function outwaitLoadOf(ask: () => Promise<Response>): Promise<Response> {
  return outwaitLoad(ask, (response) => (response.status === 503 ? response.clone().text() : ''));
}

export function call(base: string, token: string, path: string, body?: unknown): Promise<Response> {
  return outwaitLoadOf(() => callOnce(base, token, path, body));
}

/** Pastes the lines that a server prints when it is ready into a shell, and gives what they print. */
export async function pasteLines(server: Pick<ServerProcess, 'stdout'>): Promise<string> {
  const lines = server.stdout().split('\n');
  const pasted = lines.slice(lines.findIndex((line) => line.startsWith('TOKEN=')));
  const script = pasted.slice(0, pasted.indexOf('')).join('\n');
  // The trace says what a refused request left in a variable.
  const run = () => promisify(execFile)('sh', ['-xc', script]).catch((error: Shell & Error) => error);
  const ended = await outwaitLoad(run, ({ stdout, stderr }) => stdout + stderr);
  if (ended instanceof Error) throw ended;
  return ended.stdout;
}

interface Shell {
  readonly stdout: string;
  readonly stderr: string;
}

export function callOnce(base: string, token: string, path: string, body?: unknown): Promise<Response> {
  return fetch(base + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function readCredentials(dataDir: string): Promise<Credentials> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'));
  } catch {
    return { base_url: '', organization_key: '', project_id: '', tenant_token: '' };
  }
}

export interface Launched {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
}

/** Where programs are, where scratch files go, and what other processes have compiled: no setting of the program. */
function inherited(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE };
}

export function launch(
  args: readonly string[],
  folder: string,
  variables: Variables,
  program: string = mainFile,
): Launched {
  const child = spawn(process.execPath, [...FLAGS, program, ...args], {
    // Not the checkout: its .env belongs to whoever works there.
    cwd: folder,
    // What a process that is killed leaves behind goes with its folder.
    env: { ...inherited(), TMPDIR: folder, ...KEPT_LOG, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
    if (logFolder !== undefined) appendFileSync(join(logFolder, `${child.pid}.log`), text);
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return { child, ended, stdout: () => output.stdout, stderr: () => output.stderr };
}
