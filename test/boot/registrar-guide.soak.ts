/** The commands of docs/registrar.md work as they stand, against the program's own EPP server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { FREE_PORTS, launch, makeFolder, startServer, waitFor } from './server-process.ts';

const run = promisify(execFile);
const guide = await readFile(fileURLToPath(new URL('../../docs/registrar.md', import.meta.url)), 'utf8');
const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const relayFile = fileURLToPath(new URL('./verb-relay.ts', import.meta.url));
const blocks = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const READY_MS = 90_000;

test('the commands of the registrar guide work, in the order in which it gives them', async (t) => {
  const folder = await makeFolder(t);
  const verbs = await serveVerbs(t, folder);
  await symlink(examples, join(folder, 'examples'));
  let service = '';
  let registries: ReadonlyMap<string, string> = new Map();
  const shell: string[] = [];
  let servicesStarted = 0;
  for (const block of blocks) {
    if (block.includes('domains epp-server')) {
      registries = await startRegistries(t, folder, block);
    } else if (block.includes('-- serve ')) {
      const variables = { IRONCRAFT_DOMAINS_CONFIG_FILE: 'registries.yaml' };
      const { url } = await startServer(t, folder, variables, { only: 'domains' });
      service = url;
      servicesStarted += 1;
    } else {
      const text = block
        .replaceAll(/epps:\/\/127\.0\.0\.1:(\d+)/g, (address, port) => registries.get(port) ?? address)
        .replaceAll('http://127.0.0.1:8788/api/v1', service);
      shell.push(await runOnceRegistered(() => runShell(folder, verbs, text)));
    }
  }
  assert.deepEqual([registries.size, servicesStarted], [3, 1]);
  const shown = shell.join('\n');
  assert.match(shown, /alpha takes the login[\s\S]*beta takes the login[\s\S]*gamma takes the login/);
  assert.match(shown, /"domain":"gold\.com","kind":"registration","status":"(Completed|Pending)"/);
  assert.match(shown, /^found\.dev .+\n3 names were asked about; 1 differ[\s\S]*^1 names were imported, 0 were not/m);
  assert.match(shown, /^lost\.dev {2}.+/m);
  assert.match(shown, /"domain":"quick-transfer-shop\.org","kind":"restoration","status":"(Completed|Pending)"/);
  assert.match(shown, /^alpha {2}\d+\.\d\d left at /m);
  assert.match(shown, /_full_0: OK[\s\S]*_hdl_0: OK[\s\S]*_full_0\.xml: OK[\s\S]*_diff_0\.xml: OK/);
  const files = await readdir(join(folder, 'deposit'));
  const deposited = (end: string) => {
    const name = files.find((file) => file.endsWith(end)) ?? assert.fail(`${end} is not among ${files.join()}`);
    return readFile(join(folder, 'deposit', name), 'utf8');
  };
  const [names, contacts, xml] = await Promise.all(['_full_0', '_hdl_0', '_full_0.xml'].map(deposited));
  assert.ok(names !== undefined && contacts !== undefined && xml !== undefined);
  assert.match(xml, /<rdeDomain:name>first-customer\.com<[\s\S]*<contact:street>1 Mill Lane, Flat 2</);
  assert.match(names, /^domain,[\s\S]*^first-customer\.com,[\s\S]*^second-customer\.com,/m);
  assert.match(contacts, /^usr_\w+,Kim,,"1 Mill Lane, Flat 2",London,,EC1,GB,kim@example\.com,\+44\.2071234567$/m);
});

/** Whoever reads along is slower: what was bought is registered by then, and a name that is not yet is a conflict. */
async function runOnceRegistered(block: () => Promise<string>): Promise<string> {
  for (const deadline = Date.now() + READY_MS; ; ) {
    try {
      return await block();
    } catch (error) {
      if (!String(error).includes('returned error: 409') || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** Gives their addresses by the ports of the page, which may be taken here. */
async function startRegistries(t: TestContext, folder: string, block: string): Promise<ReadonlyMap<string, string>> {
  const [, words = ''] = /-- (domains epp-server [\s\S]*?) &$/m.exec(block.replaceAll('\\\n', ' ')) ?? [];
  const addresses = new Map<string, string>();
  // One after the other: each takes all of a small machine for seconds.
  for (const [, name = '', port = ''] of block.matchAll(/^registry (\w+) (\d+)$/gm)) {
    const args = words.trim().replaceAll('$1', name).replaceAll('$2', '0').split(/\s+/);
    const server = launch(args, folder, { IRONCRAFT_DATA_DIR: join(folder, `.registry-${name}`) });
    t.after(async () => {
      server.child.kill('SIGTERM');
      await server.ended;
    });
    const address = await waitFor(`the registry ${name}`, READY_MS, async () => {
      if (server.child.exitCode !== null) throw new Error(server.stderr());
      return /served at (epps:\S+)/.exec(server.stdout())?.[1];
    });
    addresses.set(port, address);
  }
  return addresses;
}

/** Runs the lines as they stand, and gives what they print: see operating-guide.test.ts. */
async function runShell(folder: string, verbs: string, text: string): Promise<string> {
  const npm = `npm() { [ "$1 $2 $3 $4" = "run --silent ironcraft --" ] || return 9; shift 4; "$NODE" "$RELAY" "$@"; }`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE: process.execPath, RELAY: relayFile, VERBS: verbs };
  try {
    return (await run('sh', ['-ec', `${npm}\n${text}`], { cwd: folder, env })).stdout;
  } catch (error) {
    throw new Error(`this does not work:\n${text}\n${String(error)}`, { cause: error });
  }
}

/** Runs the verbs that `verb-relay.ts` asks for; gives its address. */
async function serveVerbs(t: TestContext, folder: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const args = (await json(request)) as string[];
    response.end(JSON.stringify(await runVerbInProcess(args, folder, FREE_PORTS)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') assert.fail('it listens on a port');
  return `http://127.0.0.1:${address.port}`;
}
