import assert from 'node:assert/strict';
import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ENVIRONMENT } from '../../src/kernel/config/environment.ts';
import { logFolder } from '../support/test-log.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { FREE_PORTS, makeFolder, openGivenStore, runVerb, type Variables } from './server-process.ts';

const VERBS = [
  [],
  ['serve'],
  ['migrate'],
  ['token'],
  ['token', 'mint'],
  ['org'],
  ['org', 'create'],
  ['org', 'update'],
  ['keys'],
  ['keys', 'rotate'],
  ['keys', 'reseal'],
  ['keys', 'recover'],
  ['events'],
  ['events', 'verify'],
  ['doctor'],
  ['environment'],
  ['domains', 'epp-server'],
  ['domains', 'name'],
  ['domains', 'order'],
  ['domains', 'dnssec'],
  ['domains', 'dnssec', 'roll'],
  ['domains', 'dnssec', 'list'],
];

for (const verb of VERBS) {
  test(`${['ironcraft', ...verb].join(' ')} --help explains itself on one screen`, async (t) => {
    const { code, stdout, stderr } = await runVerbInProcess([...verb, '--help'], await makeFolder(t));
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.match(stdout, new RegExp(`^Usage: ironcraft${verb.map((word) => ` ${word}`).join('')}`));
    assert.ok(stdout.split('\n').length <= 40, 'it fits a screen');
    assert.match(stdout, /ironcraft environment/);
  });
}

test('ironcraft environment lists every setting with its default and meaning', async (t) => {
  const { code, stdout, stderr } = await runVerbInProcess(['environment'], await makeFolder(t));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const words = stdout.replaceAll(/\s+/g, ' ');
  for (const { name, default: fallback, meaning } of ENVIRONMENT) {
    assert.ok(words.includes(`${fallback === '' ? name : `${name} (${fallback})`} ${meaning}.`), name);
  }
});

const WRONG_USAGE: readonly [string, readonly string[], RegExp][] = [
  ['an unknown verb', ['fly'], /unknown command 'fly'/],
  ['an unknown option', ['serve', '--fast'], /unknown option '--fast'/],
  ['a missing name', ['org', 'create'], /missing required argument 'name'/],
  ['an empty name', ['org', 'create', ' '], /NAME must be 1 to 200 characters/],
  ['a change of nothing', ['org', 'update'], /--name or --contact/],
  ['a contact that is no address', ['org', 'update', '--contact', 'owner'], /such as owner@example.com/],
  ['an unknown scope', ['token', 'mint', '--scope', 'all'], /Allowed choices are admin, smith, organization/],
  ['a lifetime of nothing', ['token', 'mint', '--ttl', '0'], /from 1 to 315360000/],
  ['a smith token without a smith', ['token', 'mint', '--scope', 'smith', '--permission', 'runs:read'], /--smith/],
  ['a smith token without permissions', ['token', 'mint', '--scope', 'smith', '--smith', 'smt_1'], /--permission/],
  [
    'an unknown permission',
    ['token', 'mint', '--scope', 'smith', '--smith', 'smt_1', '--permission', 'runs:all'],
    /runs:all is not a permission/,
  ],
  [
    'a smith token of two days',
    ['token', 'mint', '--scope', 'smith', '--smith', 'smt_1', '--permission', 'runs:read', '--ttl', '172800'],
    /at most 86400 seconds/,
  ],
  ['an admin token with permissions', ['token', 'mint', '--permission', 'runs:read'], /belong to --scope smith/],
  ['a head that no run printed', ['events', 'verify', '--head', 'proj_1:7'], /project:position:hash/],
  ['an organization key that expires', ['token', 'mint', '--scope', 'organization', '--ttl', '9'], /leave --ttl out/],
];

for (const [what, args, message] of WRONG_USAGE) {
  test(`${what} is wrong usage: exit code 2, and the message says what to do`, async (t) => {
    const folder = await makeFolder(t);
    const { code, stdout, stderr } = await runVerbInProcess(args, folder);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, message);
    await assert.rejects(stat(join(folder, '.ironcraft')), 'nothing was made');
  });
}

test('a process of its own ends with these exit codes, and prints to the same places', async (t) => {
  const folder = await makeFolder(t);
  const help = await runVerb(['--help'], folder);
  assert.deepEqual(help, await runVerbInProcess(['--help'], folder));
  assert.equal(help.code, 0);
  const wrong = await runVerb(['token', 'mint', '--scope', 'all'], folder);
  assert.deepEqual(wrong, await runVerbInProcess(['token', 'mint', '--scope', 'all'], folder));
  assert.equal(wrong.code, 2);
});

test('a bad environment, also one of a .env file in the working folder, is refused with every problem at once, without values of secrets or a stack', {
  skip: logFolder === undefined ? false : 'the level of the log is set where all is kept',
}, async (t) => {
  const variables = {
    IRONCRAFT_PORT: '99999',
    IRONCRAFT_LOG_LEVEL: 'loud',
    IRONCRAFT_DATABASE_URL: 'mysql://root:hunter2@localhost/db',
  };
  for (const verb of [['serve'], ['migrate'], ['token', 'mint']]) {
    const folder = await makeFolder(t);
    // `serve` listens for signals from its first moment on.
    const isServe = verb[0] === 'serve';
    if (isServe) {
      const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
      await writeFile(join(folder, '.env'), lines.join(''));
    }
    const { code, stderr } = await (isServe ? runVerb(verb, folder) : runVerbInProcess(verb, folder, variables));
    assert.equal(code, 2);
    for (const name of Object.keys(variables)) assert.ok(stderr.includes(name), `${verb}: ${name}`);
    assert.doesNotMatch(stderr, /hunter2|\bat .*\.ts:/);
  }
});

test('an unreachable database is a one-line failure that says what to check; debug adds the stack', async (t) => {
  const variables = { IRONCRAFT_DATABASE_URL: 'postgres://app:hunter2@127.0.0.1:9/app' };
  const folder = await makeFolder(t);
  const { code, stderr } = await runVerbInProcess(['migrate'], folder, variables);
  assert.equal(code, 1);
  assert.match(stderr, /^error: .*127\.0\.0\.1:9\/app.*Check the database URL.*\n$/);
  const debug = await runVerbInProcess(['migrate'], folder, { ...variables, IRONCRAFT_LOG_LEVEL: 'debug' });
  assert.match(debug.stderr, /\bat .*\.ts:/);
  assert.doesNotMatch(stderr + debug.stderr, /hunter2/);
});

test('before the first start, verbs say so and doctor finds nothing wrong; neither makes anything', async (t) => {
  const folder = await makeFolder(t);
  for (const verb of [
    ['token', 'mint'],
    ['org', 'create', 'Acme'],
    ['keys', 'rotate'],
  ]) {
    const { code, stderr } = await runVerbInProcess(verb, folder);
    assert.equal(code, 1);
    assert.match(stderr, /There is no database in .*\.ironcraft yet/);
  }
  assert.match(
    (await runVerbInProcess(['migrate', '--dry-run'], folder)).stdout,
    /^would apply +platform\/0001_foundation\.sql$/m,
  );
  const doctor = await runVerbInProcess(['doctor'], folder, { IRONCRAFT_PORT: '0' });
  assert.equal(doctor.code, 0, doctor.stdout);
  await assert.rejects(stat(join(folder, '.ironcraft')));
});

test('doctor names each bad setting', async (t) => {
  const { code, stdout } = await runVerbInProcess(['doctor', '--json'], await makeFolder(t), {
    IRONCRAFT_PORT: 'x',
    IRONCRAFT_LOG_LEVEL: 'loud',
  });
  assert.equal(code, 1);
  const report = JSON.parse(stdout);
  assert.equal(report.ok, false);
  const problems = report.findings.filter((finding: { status: string }) => finding.status === 'failed');
  assert.deepEqual(
    problems.map((finding: { detail: string; fix: string }) => [finding.detail.split('=')[0], finding.fix !== '']),
    [
      ['IRONCRAFT_PORT', true],
      ['IRONCRAFT_LOG_LEVEL', true],
    ],
  );
});

test('doctor warns of a variable that no setting has, and passes', async (t) => {
  const { code, stdout } = await runVerbInProcess(['doctor'], await makeFolder(t), {
    IRONCRAFT_PORT: '0',
    IRONCRAFT_PROT: '1',
  });
  assert.equal(code, 0);
  assert.match(stdout, /^WARNING +environment +IRONCRAFT_PROT is no setting\n +→ /m);
});

test('doctor warns of private addresses that tenants of elsewhere could make the server call', async (t) => {
  const folder = await makeFolder(t);
  const run = async (variables: Record<string, string>) =>
    (await runVerbInProcess(['doctor'], folder, { IRONCRAFT_PORT: '0', ...variables })).stdout;
  const exposed = { IRONCRAFT_MODEL_PRIVATE_ADDRESSES: 'allow', IRONCRAFT_HOST: '0.0.0.0' };
  assert.match(await run(exposed), /^WARNING +outbound +IRONCRAFT_MODEL_PRIVATE_ADDRESSES .*\n +→ .*OUTBOUND_ALLOW/m);
  assert.match(await run({ ...exposed, IRONCRAFT_HOST: '127.0.0.1' }), /^ok +outbound .*private addresses/m);
  assert.match(await run({}), /^ok +outbound +models at public addresses alone$/m);
  assert.match(await run({ IRONCRAFT_OUTBOUND_ALLOW: 'gpu:8000' }), /^ok +outbound .*opened: gpu:8000$/m);
});

test('doctor and serve find a port that another program holds', async (t) => {
  const other = createServer((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nhello'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.after(() => void other.close());
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? String(address.port) : '';
  const folder = await makeFolder(t);
  const doctor = await runVerbInProcess(['doctor'], folder, { IRONCRAFT_PORT: port });
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /^FAILED +port .*in use by another program\n +→ .*IRONCRAFT_PORT/m);
  const serve = await runVerb(['serve'], folder, { ...FREE_PORTS, IRONCRAFT_PORT: port });
  assert.equal(serve.code, 1);
  assert.match(serve.stderr, new RegExp(`^error: 127\\.0\\.0\\.1 port ${port} is in use.*IRONCRAFT_PORT`, 'm'));
});

test('doctor reports a database that cannot be reached, with the fix', async (t) => {
  const { code, stdout } = await runVerbInProcess(['doctor'], await makeFolder(t), {
    IRONCRAFT_PORT: '0',
    IRONCRAFT_DATABASE_URL: 'postgres://app:hunter2@127.0.0.1:9/app',
  });
  assert.equal(code, 1);
  assert.match(stdout, /^FAILED +database .*127\.0\.0\.1:9\/app.*\n +→ Check IRONCRAFT_DATABASE_URL/m);
  assert.doesNotMatch(stdout, /hunter2/);
});

/** One database for the tests below, each of which leaves it as usable as it was. */
let folder = '';
let store: Variables = {};
const cleanups: Array<() => Promise<void>> = [];
const runOnStore = (args: readonly string[], variables: Variables = {}) =>
  runVerbInProcess(args, folder, { ...store, ...variables });
before(async () => {
  const t = { after: (work: () => Promise<void>) => void cleanups.push(work) };
  folder = await makeFolder(t);
  store = await openGivenStore(t);
  const { code, stderr } = await runOnStore(['migrate']);
  assert.equal(code, 0, stderr);
  const organization = await runOnStore(['org', 'create', 'Acme', '--json']);
  assert.equal(organization.code, 0, organization.stderr);
});
after(async () => {
  for (const work of cleanups) await work();
});

test('migrate applies what is missing once', async () => {
  const again = await runOnStore(['migrate']);
  assert.deepEqual([again.code, again.stdout], [0, 'The database is up to date.\n']);
  const { stdout } = await runOnStore(['migrate', '--status']);
  assert.match(stdout, /^applied +platform\/0001_foundation\.sql$/m);
  assert.doesNotMatch(stdout, /pending/);
});

test('doctor finds a healthy database healthy', async () => {
  const { code, stdout } = await runOnStore(['doctor'], { IRONCRAFT_PORT: '0' });
  assert.equal(code, 0, stdout);
  for (const check of ['node', 'environment', 'data folder', 'master key', 'database', 'pgvector', 'writing']) {
    assert.match(stdout, new RegExp(`^ok +${check} `, 'm'));
  }
  for (const check of ['migrations', 'clock', 'signing keys']) assert.match(stdout, new RegExp(`^ok +${check} `, 'm'));
});

test('doctor says what keeps commands of models from running, and how to mend it', async () => {
  const variables = { IRONCRAFT_PORT: '0', IRONCRAFT_SANDBOX_BUBBLEWRAP: join(folder, 'bwrap') };
  const { code, stdout } = await runOnStore(['doctor'], variables);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /^WARNING +sandbox +run_command is not available: bubblewrap is not installed.*\n +→ .*apt-get install bubblewrap/m,
  );
});

test('a token is printed alone on standard output, so that a script can keep it', async () => {
  const { code, stdout, stderr } = await runOnStore(['token', 'mint', '--scope', 'organization', '--name', 'ci']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^tho_live_[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.match(stderr, /^tok_\w+ for org_\w+: organization:\*; does not expire\n$/);
});

test('a verb that needs a project says how to make one', async () => {
  const { code, stderr } = await runOnStore(['token', 'mint']);
  assert.equal(code, 1);
  assert.match(stderr, /There is no project yet.*POST \/v1\/organization\/projects/);
});

test('a file mode that gives secrets away fails the doctor', async () => {
  const key = join(folder, '.ironcraft', 'master.key');
  await chmod(key, 0o644);
  try {
    const { code, stdout } = await runOnStore(['doctor'], { IRONCRAFT_PORT: '0' });
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED +master key .*chmod 600/m);
  } finally {
    await chmod(key, 0o600);
  }
});

test('another master key than the database was set up with is refused, and nothing is made in its place', async () => {
  const wrong = { IRONCRAFT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), ...FREE_PORTS };
  for (const failed of [await runOnStore(['keys', 'rotate'], wrong), await runOnStore(['serve'], wrong)]) {
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /master key of this process does not open/);
  }
  const doctor = await runOnStore(['doctor'], wrong);
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /^FAILED +signing keys /m);
});

test('a new master key takes over: the old one reads until everything is sealed again', async () => {
  const old = (await readFile(join(folder, '.ironcraft', 'master.key'), 'utf8')).trim();
  const next = Buffer.alloc(32, 9).toString('base64');
  const both = { IRONCRAFT_MASTER_KEY: `${next},${old}` };
  const resealed = await runOnStore(['keys', 'reseal'], both);
  assert.deepEqual(
    [resealed.code, resealed.stdout],
    [
      0,
      'signing_keys.sealed_private_jwk: 1 sealed again\nmodel_keys.sealed_api_key: 0 sealed again\n' +
        'sandbox_secrets.sealed_value: 0 sealed again\nmcp_servers.sealed_secret: 0 sealed again\n' +
        'mcp_suspended_calls.sealed_session: 0 sealed again\n' +
        'runs.sealed_mcp_credentials: 0 sealed again\n' +
        'deployments.sealed_secrets: 0 sealed again\nchannel_accounts.sealed_secrets: 0 sealed again\n' +
        'slack_installs.sealed_bot_token: 0 sealed again\n' +
        'oauth_providers.sealed_client_secret: 0 sealed again\nmcp_issuers.sealed_client_secret: 0 sealed again\n' +
        'connections.sealed_credential: 0 sealed again\nconnection_revocations.sealed_credential: 0 sealed again\n' +
        'connection_revocations.sealed_client_secret: 0 sealed again\n' +
        'webhooks.sealed_secret: 0 sealed again\nwebhooks.sealed_previous_secret: 0 sealed again\n' +
        'webhooks.sealed_earlier_secrets: 0 sealed again\n' +
        'domains.webhooks.sealed_secret: 0 sealed again\ndomains.webhooks.sealed_previous_secret: 0 sealed again\n' +
        'domains.webhooks.sealed_earlier_secrets: 0 sealed again\n' +
        'domains.orders.sealed_auth_code: 0 sealed again\ndomains.payments.sealed_instrument: 0 sealed again\n',
    ],
  );
  const minted = await runOnStore(['token', 'mint', '--scope', 'organization'], {
    IRONCRAFT_MASTER_KEY: next,
  });
  assert.equal(minted.code, 0, minted.stderr);
  const back = await runOnStore(['keys', 'reseal'], { IRONCRAFT_MASTER_KEY: `${old},${next}` });
  assert.match(back.stdout, /^signing_keys\.sealed_private_jwk: 1 sealed again$/m);
});

test('a server without its lost master key is refused, and keys recover goes on without the key only when it is meant', async () => {
  const key = join(folder, '.ironcraft', 'master.key');
  await rename(key, `${key}.lost`);
  const refused = await runOnStore(['serve'], FREE_PORTS);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^error: The database holds sealed secrets and there is no master key/m);
  const doctor = await runOnStore(['doctor'], { IRONCRAFT_PORT: '0' });
  assert.match(doctor.stdout, /^FAILED +signing keys +there is no master key/m);
  const counted = await runOnStore(['keys', 'recover']);
  assert.equal(counted.code, 1);
  assert.match(counted.stdout, /^signing_keys: 1 cannot be opened$/m);
  await assert.rejects(stat(key), 'counting makes no key');
  const given = await runOnStore(['keys', 'recover', '--yes']);
  assert.equal(given.code, 0, given.stderr);
  const minted = await runOnStore(['token', 'mint', '--scope', 'organization']);
  assert.equal(minted.code, 0, minted.stderr);
  const untouched = await runOnStore(['keys', 'recover', '--yes']);
  assert.deepEqual(
    [untouched.code, untouched.stdout],
    [0, 'The master key opens every stored secret: nothing is lost.\n'],
  );
});
