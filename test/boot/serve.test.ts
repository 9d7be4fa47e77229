/** One server from its first start to its end, and what happens around it meanwhile. The soak starts it again. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { readSourceCommit, sourceRoot } from '../../src/command-line/source-commit.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { call, FREE_PORTS, makeFolder, pasteLines, type ServerProcess, startServer } from './server-process.ts';

const run = promisify(execFile);

let folder = '';
let server: ServerProcess;
const cleanups: Array<() => Promise<void>> = [];

before(async () => {
  const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
  folder = await makeFolder(t);
  // Debug, because that is when a credential would be most likely to reach the log.
  server = await startServer(t, folder, { IRONCRAFT_LOG_LEVEL: 'debug' });
});

after(async () => {
  for (const work of cleanups) await work();
});

test('the first start writes credentials that only their owner can read and that work', async () => {
  const path = join(server.dataDir, 'credentials.json');
  const { mode } = await stat(path);
  assert.equal(mode & 0o777, 0o600);
  const { base_url, organization_key, project_id, tenant_token } = server.credentials;
  assert.deepEqual(Object.keys(server.credentials), ['base_url', 'organization_key', 'project_id', 'tenant_token']);
  assert.equal(base_url, server.url, 'the port that the system picked');
  assert.match(tenant_token, /^tha_live_/);
  const customers = await call(base_url, tenant_token, '/v1/customers');
  assert.equal(customers.status, 200);
  const projects = await call(base_url, organization_key, '/v1/organization/projects');
  const { data } = (await projects.json()) as { data: { id: string }[] };
  assert.deepEqual(
    data.map(({ id }) => id),
    [project_id],
  );
});

test('the lines it prints stream a turn when they are pasted into a shell, and again', async (t) => {
  if ((await run('curl', ['--version']).catch(() => undefined)) === undefined)
    return t.skip('this machine has no curl');
  for (const attempt of ['first', 'second']) {
    const stdout = await pasteLines(server);
    assert.match(stdout, /^event: run\.started$/m, attempt);
    assert.match(stdout, /^event: run\.completed$/m, attempt);
    // How many pieces depends on the machine: words that are due at the same moment travel together.
    assert.ok((stdout.match(/^event: message\.delta$/gm) ?? []).length > 1, 'in pieces');
  }
});

test('it says that it lives, from which source, and that it is ready', async () => {
  const health = await fetch(`${server.url}/healthz`);
  assert.equal(health.status, 200);
  assert.deepEqual(await health.json(), {
    ok: true,
    service: 'ironcraft-platform',
    commit: readSourceCommit(sourceRoot),
  });
  const ready = await fetch(`${server.url}/readyz`);
  assert.equal(ready.status, 200);
  assert.deepEqual(await ready.json(), { ok: true, service: 'ironcraft-platform', checks: { db: 'ok', files: 'ok' } });
});

test('metrics are served to a scraper, and count requests', async () => {
  await call(server.url, server.credentials.tenant_token, '/v1/customers');
  const reply = await fetch(`${server.url}/metrics`);
  assert.equal(reply.status, 200);
  assert.match(
    await reply.text(),
    /^http_request_duration_seconds_count\{operation="customers\.list",status="200"\} \d+$/m,
  );
});

test('health routes are no part of the API document, and have request budgets of their own', async () => {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: Record<string, unknown> };
  for (const [path, budget] of [
    ['/healthz', /^"probe";q=6000;/],
    ['/readyz', /^"probe";q=6000;/],
    ['/metrics', /^"document";q=600;/],
  ] as const) {
    assert.ok(!(path in document.paths), path);
    const answer = await fetch(server.url + path);
    await answer.arrayBuffer();
    assert.match(answer.headers.get('ratelimit-policy') ?? '', budget, path);
  }
  assert.ok('/v1/customers' in document.paths);
});

test('a second process on the same folder is refused with a clear message', async () => {
  const { code, stdout, stderr } = await runVerbInProcess(['serve'], folder, FREE_PORTS);
  assert.equal(code, 1);
  assert.match(stdout, /^ {2}opening the database in \S+ …\n$/);
  assert.match(
    stderr,
    new RegExp(`^error: .*database is in use by process ${server.pid}.*choose another data folder`, 'm'),
  );
});

test('a verb that needs the embedded database says that the server holds it and what to do instead', async () => {
  for (const [verb, instead] of [
    [['keys', 'rotate'], /Stop the server/],
    [['migrate'], /Stop the server/],
  ] as const) {
    const { code, stderr } = await runVerbInProcess(verb, folder);
    assert.equal(code, 1);
    assert.match(stderr, /^error: A running server holds the embedded database/);
    assert.match(stderr, instead);
  }
});

test('tokens are minted and organizations made by the running server', async () => {
  const minted = await runVerbInProcess(['token', 'mint', '--name', 'beside', '--json'], folder);
  assert.equal(minted.code, 0, minted.stderr);
  const { token, scopes, sub, expires_at } = JSON.parse(minted.stdout);
  assert.deepEqual(
    { scopes, sub, expires_at },
    { scopes: ['tenant:*'], sub: server.credentials.project_id, expires_at: null },
  );
  const listed = await (await call(server.url, token, '/v1/tenant/tokens')).json();
  assert.ok((listed as { data: { name: string }[] }).data.some(({ name }) => name === 'beside'));

  const created = await runVerbInProcess(['org', 'create', 'Acme', '--json'], folder);
  assert.equal(created.code, 0, created.stderr);
  const { organization_key } = JSON.parse(created.stdout);
  const projects = (await (await call(server.url, organization_key, '/v1/organization/projects')).json()) as {
    data: [];
  };
  assert.deepEqual(projects.data, []);

  const several = await runVerbInProcess(['token', 'mint', '--scope', 'organization'], folder);
  assert.deepEqual([several.code, several.stdout], [1, '']);
  assert.match(several.stderr, /^error: There are several: name one with --organization\.\n(.*\n)* {2}\S+ {2}Acme/);
});

test('doctor asks the running server where it cannot look for itself', async () => {
  const { port } = new URL(server.url);
  const { code, stdout } = await runVerbInProcess(['doctor'], folder, { IRONCRAFT_PORT: port });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ok +port +this server answers at .*, commit \w+$/m);
  assert.match(stdout, /^ok +server +ready$/m);
  assert.match(stdout, /^- +database +the running server holds/m);
});

test('doctor fails when the database is held and no server of ours answers at the port', async () => {
  const { code, stdout } = await runVerbInProcess(['doctor'], folder, { IRONCRAFT_PORT: '0' });
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`^FAILED +database .*process ${server.pid}`, 'm'));
});

test('a signal ends it in order, and its log is JSON without a credential', async () => {
  const { tenant_token, organization_key } = server.credentials;
  const created = await call(server.url, tenant_token, '/v1/customers', { name: 'Kept' });
  assert.equal(created.status, 201);
  await call(server.url, `${tenant_token.slice(0, -4)}AAAA`, '/v1/customers');
  assert.deepEqual(await server.stop(), { code: 0, signal: null });

  const log = server.stderr();
  for (const line of log.trimEnd().split('\n')) assert.equal(typeof JSON.parse(line), 'object');
  assert.match(log, /"operation":"customers\.create"/);
  for (const secret of [tenant_token, organization_key, tenant_token.split('.')[2] ?? '']) {
    assert.ok(!log.includes(secret.slice(0, 60)), 'a credential in the log');
    assert.ok(!server.stdout().includes(secret.slice(0, 60)), 'a credential on standard output');
  }
});
