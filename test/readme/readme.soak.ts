/** Runs every command of the README as a newcomer would, through `npm start` and `sh`. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { whyNoBoxes } from '../support/sandbox.ts';
import { readSections, root } from './read-sections.ts';

const run = promisify(execFile);
const READY_MS = 60_000;

let folder: string;
let environment: NodeJS.ProcessEnv;
let server: ChildProcess | undefined;
let toolServer: ChildProcess | undefined;
/** Where the README has the MCP server listen, and where this test does. */
const TOOL_PORT_SHOWN = '3001';
let toolPort: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ironcraft-readme-'));
  environment = {
    ...process.env,
    IRONCRAFT_DATABASE_URL: '',
    IRONCRAFT_DATA_DIR: join(folder, '.ironcraft'),
    IRONCRAFT_PORT: String(await findFreePort()),
    IRONCRAFT_DOMAINS_PORT: String(await findFreePort()),
    IRONCRAFT_DOMAINS_DNS_PORT: String(await findFreePort()),
    IRONCRAFT_LOG_LEVEL: 'warn',
  };
  toolPort = String(await findFreePort());
});

after(async () => {
  // npx and what it has started.
  if (toolServer?.pid !== undefined && toolServer.exitCode === null) process.kill(-toolServer.pid, 'SIGKILL');
  // Its end takes away what it has among the temporary files.
  await stopServer('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

test('the command line that the README names prints its help', async () => {
  const { stdout } = await run('npm', ['run', '--silent', 'ironcraft', '--', '--help'], { cwd: root });
  assert.match(stdout, /serve/);
});

test('the README’s commands stream a turn, survive kill -9, show the whole timeline, answer from a file, call tools and have people asked, open a page, let an MCP client in, keep to a budget and a schedule, and buy a name', async (context) => {
  const sections = await readSections();
  const [, setUp, create, stream, crash, timeline] = sections.get('Two minutes to a streamed answer') ?? [];
  const [knowledge] = sections.get("With OpenAI's SDK") ?? [];
  const [page = ''] = sections.get("A smith's page") ?? [];
  const connector = (sections.get('From any MCP client') ?? []).join('');
  const [operations] = sections.get('Budgets, schedules, traces') ?? [];
  const [domain = ''] = sections.get('Buy a domain name') ?? [];

  await startServer();
  const first = await shell(`${setUp}${create}${stream}${crash}\necho; echo "SMITH=$SMITH RUN=$RUN"`);
  assert.match(first, /"version":1/, 'the published version shows');
  assertFirstTurns(first);
  const beforeKill = first.slice(first.lastIndexOf('"status":"completed"'));
  assert.equal(beforeKill.match(/^data:.*"type":"message\.delta"/gm)?.length, 10, 'the kill waits for words');
  const [, smith, runId] = /SMITH=(smt_\w+) RUN=(run_\w+)/.exec(first) ?? [];
  assert.ok(smith && runId, first);

  await waitForExit();
  await startServer();
  const second = await shell(`${setUp}SMITH=${smith}; RUN=${runId}\n${timeline}`);
  assert.match(second, /event: run\.restarted/);
  assert.match(second, /event: run\.completed/);
  assert.equal(wordsAfterRestart(second), 300);
  assert.match(second, /\n$/);

  // Pasted a second time, each block shows what it showed before.
  const again = await shell(`${setUp}${create}${stream}`);
  assertFirstTurns(again);

  for (const third of [await shell(`${setUp}${knowledge}`), await shell(`${setUp}${knowledge}`)]) {
    assert.match(third, /"object":"response"/);
    assert.match(third, /The office is closed on 24 December\./);
    assert.match(third, /"type":"file_citation","index":\d+,"file_id":"file_\w+","filename":"handbook\.txt"/);
  }

  await assertTools(context, sections.get('Tools') ?? [], `${setUp}${create}`);

  const opened = await shell(`${setUp}SMITH=${smith}\n${page}`);
  assertShown(page, opened);
  const [address] = /http\S+\/hosted\/dep_\w+/.exec(opened) ?? [];
  const shown = await fetch(address ?? assert.fail(opened));
  assert.match(await shown.text(), /^<!doctype html>[\s\S]*<h1 dir="auto">Help<\/h1>/);

  assertShown(connector, await shell(`${setUp}SMITH=${smith}\n${connector}`));

  const operated = await shell(`${setUp}SMITH=${smith}\n${operations}`);
  assert.match(
    operated,
    /"scope":"smith","scope_id":"smt_\w+","period":"daily","limit":5,"currency":"usd","action":"block"/,
  );
  assert.match(operated, /"schedule_id":"sch_\w+","delivery_id":"schd_\w+","status":"queued"/);
  assert.match(operated, /"id":"trc_\w+","run_id":"run_\w+"/);
  assert.match(operated, /"group_by":\["day","model"\],"data":\[.*"day":"\d{4}-\d\d-\d\d","model":"builtin\/demo"/);
  assert.match(operated, /"type":"run\.completed"/);

  const isAsked = spawnSync('dig', ['-v']).error === undefined;
  if (!isAsked) context.diagnostic('dig is not installed (Debian: bind9-dnsutils): the last command was left out');
  const fourth = await shell(atPorts(isAsked ? domain : domain.replace(/^dig .*$/m, '')));
  assert.match(fourth, /"domain":"hello-\d+\.com","available":true/);
  assert.match(fourth, /"kind":"registration","status":"(?:Pending|Completed)"/);
  assert.match(fourth, /"name":"www\.hello-\d+\.com","type":"A","value":"192\.0\.2\.7"/);
  if (isAsked) assert.equal(fourth.trim().split('\n').at(-1), '192.0.2.7');
});

/** A tool approved, a question answered after a kill, a skill, a UI resource and a command; `before`: what makes the smith. */
async function assertTools(context: TestContext, blocks: readonly string[], before: string): Promise<void> {
  const [serve = '', restart = '', register, call, approve, crash, answer = '', skill, page, command] = blocks;
  const allowed = /^IRONCRAFT_OUTBOUND_ALLOW=(127\.0\.0\.1:3001) npm start$/.exec(restart.trim())?.[1];
  assert.ok(allowed, restart);
  await startToolServer(atToolPort(serve));
  await stopServer('SIGTERM');
  environment.IRONCRAFT_OUTBOUND_ALLOW = atToolPort(allowed);
  await startServer();
  const begin = `${register}${call}${approve}`;
  const begun = await shell(
    atToolPort(`${before}${begin}${crash}\necho; echo "SMITH=$SMITH RUN=$RUN APPROVAL=$APPROVAL"`),
  );
  assertShown(atToolPort(begin), begun);
  const [variables] = /SMITH=smt_\w+ RUN=run_\w+ APPROVAL=apr_\w+/.exec(begun) ?? [];
  assert.ok(variables, begun);

  await waitForExit();
  await startServer();
  assertShown(answer, await shell(`${before}${variables.replaceAll(' ', '; ')}\n${answer}`));

  const whyNot = await whyNoBoxes();
  if (whyNot !== false) context.diagnostic(whyNot);
  const rest = `${skill}${page}${whyNot === false ? command : ''}`;
  assertShown(rest, await shell(`${before}${rest}`));
}

async function startToolServer(command: string): Promise<void> {
  // In a group of its own: npx starts the server as its child.
  const child = spawn('sh', ['-ec', command], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  toolServer = child;
  let said = '';
  await new Promise<void>((resolve, reject) => {
    for (const output of [child.stdout, child.stderr]) {
      output.on('data', (chunk: unknown) => {
        said += String(chunk);
        if (/listening on port/.test(said)) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`the MCP server did not start: ${said}`)));
  });
}

/** What the comments of the commands say comes back, comes back, in their order. */
function assertShown(commands: string, output: string): void {
  const expected = [...commands.matchAll(/^# (\{.*)$/gm)].map((match) => match[1] ?? '');
  assert.ok(expected.length > 0);
  let rest = output;
  for (const line of expected) {
    const pattern = line.split('…').map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    const found = new RegExp(`^${pattern.join('.*')}`, 'm').exec(rest);
    assert.ok(found, `${line}\n\nin\n\n${rest}`);
    rest = rest.slice(found.index + found[0].length);
  }
}

function atToolPort(script: string): string {
  return script.replaceAll(TOOL_PORT_SHOWN, toolPort);
}

/** What the first blocks promise: a published agent, a stream that is slow enough to watch, an answer with its variable. */
function assertFirstTurns(shown: string): void {
  assert.match(shown, /event: run\.started/);
  assert.ok((shown.match(/event: message\.delta/g) ?? []).length >= 20, 'in pieces');
  assert.match(shown, /event: run\.completed/);
  assert.match(shown, /^\{"id":"run_.*Be brief with Ada.*\}$/m, 'on a line of its own');
}

/** The commands at the ports of this test's server. */
function atPorts(script: string): string {
  const at = (name: string) => environment[name] ?? '';
  return script
    .replace(':8788', `:${at('IRONCRAFT_DOMAINS_PORT')}`)
    .replace('-p 5300', `-p ${at('IRONCRAFT_DOMAINS_DNS_PORT')}`);
}

async function shell(script: string): Promise<string> {
  const { stdout } = await run('sh', ['-ec', script], { cwd: folder, env: environment, maxBuffer: 32 * 1024 * 1024 });
  return stdout;
}

async function startServer(): Promise<void> {
  const child = spawn('npm', ['start'], { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  server = child;
  const output = child.stdout;
  let text = '';
  const deadline = setTimeout(() => child.kill('SIGKILL'), READY_MS);
  for await (const chunk of output) {
    text += String(chunk);
    if (!/ is ready at /.test(text)) continue;
    clearTimeout(deadline);
    output.resume();
    return;
  }
  throw new Error(`the server did not start: ${text}`);
}

async function waitForExit(): Promise<void> {
  if (server !== undefined && server.exitCode === null && server.signalCode === null) await once(server, 'exit');
}

/** The server is npm's grandchild; its own process id stands beside the lock. */
async function stopServer(signal: NodeJS.Signals): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const owner = JSON.parse(await readFile(join(folder, '.ironcraft/database/owner.json'), 'utf8')) as { pid: number };
  process.kill(owner.pid, signal);
  await waitForExit();
}

function wordsAfterRestart(stream: string): number {
  const restart = stream.lastIndexOf('event: run.restarted');
  const texts = [...stream.slice(restart).matchAll(/"type":"message\.delta","data":\{"text":"([^"]*)"/g)];
  return texts
    .map((match) => match[1])
    .join('')
    .trim()
    .split(/\s+/).length;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
