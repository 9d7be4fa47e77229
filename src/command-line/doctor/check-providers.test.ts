/** What `doctor` says of those that the services call, each a real server on loopback: one that takes what is configured, one that does not, and none. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { NOTICE_PASSWORD, NOTICE_USER, startNoticeService } from '../../../test/support/notice-service.ts';
import { findNsdPort, hasNsd, nsdMissing, startNsd } from '../../../test/support/nsd.ts';
import { eventually } from '../../../test/support/turns.ts';
import { type Config, loadConfig } from '../../kernel/config/config.ts';
import { checkProviders } from './check-providers.ts';
import { checkRegistries } from './check-registries.ts';
import type { Finding } from './finding.ts';

/** Nobody listens there. */
const NOBODY = '127.0.0.1:9';

function configOf(variables: Record<string, string>): Config {
  return loadConfig(variables, '/');
}

const told = (findings: readonly Finding[]) => findings.map(({ check, status }) => [check, status]);

test('nothing is said of what is not configured, but for mail where names are real', async () => {
  assert.deepEqual(await checkProviders(configOf({})), []);
  const real = configOf({
    IRONCRAFT_DOMAINS_REGISTRY: 'epp',
    IRONCRAFT_DOMAINS_EPP_URL: 'epps://127.0.0.1:700',
    IRONCRAFT_DOMAINS_EPP_CLIENT_ID: 'demo',
    IRONCRAFT_DOMAINS_EPP_PASSWORD: 'secret-1',
  });
  const [mail, ...others] = await checkProviders(real);
  assert.deepEqual([mail?.status, others], ['warning', []]);
  assert.match(mail?.fix ?? '', /IRONCRAFT_DOMAINS_MAIL_URL/);
});

async function startStripe(t: TestContext, key: string): Promise<string> {
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${key}`;
    const list = { object: 'list', data: [], has_more: false, url: '/v1/payment_intents' };
    const refusal = { error: { type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_****wxyz' } };
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? list : refusal));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('each card account is tried with its key', async (t) => {
  const url = await startStripe(t, 'sk_test_right');
  const both = await checkProviders(
    configOf({
      IRONCRAFT_STRIPE_KEY: 'sk_test_wrong',
      IRONCRAFT_STRIPE_URL: url,
      IRONCRAFT_DOMAINS_STRIPE_KEY: 'sk_test_right',
      IRONCRAFT_DOMAINS_STRIPE_URL: url,
    }),
  );
  assert.deepEqual(told(both), [
    ['cards', 'failed'],
    ['cards', 'ok'],
  ]);
  assert.match(both[0]?.detail ?? '', /IRONCRAFT_STRIPE_KEY: Invalid API Key/);
  assert.match(both[0]?.fix ?? '', /IRONCRAFT_STRIPE_KEY/);
  assert.match(both[1]?.detail ?? '', /IRONCRAFT_DOMAINS_STRIPE_KEY.*test key/);
  assert.doesNotMatch(JSON.stringify(both), /sk_test_(right|wrong)/);
  const away = { IRONCRAFT_DOMAINS_STRIPE_KEY: 'sk_live_right', IRONCRAFT_DOMAINS_STRIPE_URL: `http://${NOBODY}` };
  assert.deepEqual(told(await checkProviders(configOf(away))), [['cards', 'failed']]);
});

test('the mail server is logged in to, and nothing is sent', async (t) => {
  const mailed: string[] = [];
  const server = new SMTPServer({
    authOptional: false,
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onAuth: ({ password, username }, _session, callback) =>
      username === 'kim' && password === 'right'
        ? callback(null, { user: 'kim' })
        : callback(new Error('no such login')),
    onMailFrom: ({ address }, _session, callback) => {
      mailed.push(address);
      callback();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const check = async (url: string) => (await checkProviders(configOf({ IRONCRAFT_DOMAINS_MAIL_URL: url })))[0];
  const right = await check(`smtp://kim:right@127.0.0.1:${port}`);
  assert.deepEqual([right?.check, right?.status], ['mail', 'ok'], JSON.stringify(right));
  const wrong = await check(`smtp://kim:a-wrong-one@127.0.0.1:${port}`);
  assert.equal(wrong?.status, 'failed');
  assert.match(wrong?.fix ?? '', /IRONCRAFT_DOMAINS_MAIL_URL/);
  assert.doesNotMatch(JSON.stringify(wrong), /a-wrong-one/);
  assert.equal((await check(`smtp://kim:right@${NOBODY}`))?.status, 'failed');
  assert.deepEqual(mailed, []);
});

test('the service of notices is logged in to, by a look-up of a notice that nobody has', async (t) => {
  const notices = await startNoticeService();
  t.after(() => notices.close());
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const check = async (url: string, password: string) => {
    await writeFile(join(folder, 'notices.password'), password);
    const file = join(folder, 'registries.json');
    const claims_notices = { url, user: NOTICE_USER, password: { file: 'notices.password' } };
    await writeFile(file, JSON.stringify({ tlds: [{ tld: 'com' }], claims_notices }));
    const variables = { IRONCRAFT_DOMAINS_CONFIG_FILE: file, IRONCRAFT_OUTBOUND_ALLOW: '127.0.0.1' };
    return (await checkRegistries(configOf(variables))).find((finding) => finding.check === 'notices');
  };
  assert.equal((await check(notices.url, NOTICE_PASSWORD))?.status, 'ok');
  const wrong = await check(notices.url, 'a-wrong-one');
  assert.deepEqual([wrong?.status, wrong?.detail.includes('401')], ['failed', true], wrong?.detail);
  assert.match(wrong?.fix ?? '', /claims_notices/);
  assert.doesNotMatch(JSON.stringify(wrong), /a-wrong-one/);
  assert.equal((await check(`http://${NOBODY}/cnis`, NOTICE_PASSWORD))?.status, 'failed');
});

const SECRET = Buffer.alloc(32, 7);

function secondaryConfig(port: number, secret: Buffer): Config {
  return configOf({
    IRONCRAFT_DOMAINS_DNS_SECONDARIES: `127.0.0.1:${port}@shared`,
    IRONCRAFT_DOMAINS_DNS_TSIG_KEYS: `shared:hmac-sha256:${secret.toString('base64')}`,
  });
}

test('a secondary is asked under the key that it shares', { skip: hasNsd() ? false : nsdMissing }, async (t) => {
  const port = await findNsdPort();
  const key = { name: 'shared', algorithm: 'hmac-sha256', secret: SECRET };
  const nsd = await startNsd({ port, primaryPort: 9, zones: ['copied.test'], key });
  t.after(() => nsd.close());
  const right = await eventually(async () => {
    const [finding] = await checkProviders(secondaryConfig(port, SECRET));
    return finding?.status === 'ok' ? finding : undefined;
  }, 'NSD answers');
  assert.match(right.detail, /answers, under the key shared/);
  const [wrong] = await checkProviders(secondaryConfig(port, Buffer.alloc(32, 8)));
  assert.deepEqual([wrong?.check, wrong?.status], ['secondaries', 'failed']);
  assert.match(wrong?.fix ?? '', /the key shared with the same secret/);
});

test('a secondary that nobody answers for fails, and a network is not asked', async () => {
  const config = configOf({ IRONCRAFT_DOMAINS_DNS_SECONDARIES: `${NOBODY}, 192.0.2.0/24` });
  const findings = await checkProviders(config);
  assert.deepEqual(told(findings), [
    ['secondaries', 'failed'],
    ['secondaries', 'skipped'],
  ]);
  assert.match(findings[0]?.fix ?? '', /127\.0\.0\.1 port 9/);
});
