import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigError, loadConfig, publicUrlFor } from './config.ts';
import { ENVIRONMENT } from './environment.ts';
import { readEnvironment } from './read-environment.ts';

test('an empty environment gives the documented defaults', () => {
  const config = loadConfig({}, '/srv/app');
  assert.deepEqual(
    { ...config },
    {
      host: '127.0.0.1',
      port: 8787,
      publicUrl: undefined,
      dataDir: '/srv/app/.ironcraft',
      databaseUrl: undefined,
      databasePoolSize: 10,
      masterKeys: [],
      logLevel: 'info',
      logFormat: 'auto',
      projectRequestsPerMinute: 600,
      projectRunsInFlight: 20,
      addressRequestsPerMinute: 120,
      connections: { perAddress: 2_000, total: 10_000 },
      stallMs: 30_000,
      readProcessorMs: 10_000,
      metrics: { host: '127.0.0.1', port: undefined, token: undefined },
      trustProxy: false,
      outboundAllow: [],
      modelPrivateAddresses: 'deny',
      bodyLimitBytes: 10_485_760,
      fileLimitBytes: 536_870_912,
      projectStorageBytes: 107_374_182_400,
      usageDays: 400,
      otlp: undefined,
      catalogFile: undefined,
      mailPort: undefined,
      dnsServers: [],
      mailDomainProof: 'dns',
      consentUrl: undefined,
      sandbox: {
        bubblewrap: undefined,
        commandMs: 60_000,
        memoryBytes: 536_870_912,
        processes: 128,
        streamBytes: 1_048_576,
        workspaceBytes: 268_435_456,
        boxes: 8,
        firstUid: 60_600,
        cgroup: 'auto',
      },
      drainMs: 10_000,
      processes: 1,
      blockedMs: 60_000,
      billing: {
        mode: 'off',
        currency: 'eur',
        usdRateMillionths: 1_000_000,
        markupPercent: 0,
        starterCents: 0,
        stripeKey: undefined,
        stripeUrl: undefined,
        stripeWebhookSecret: undefined,
      },
      domains: {
        port: 8788,
        publicUrl: undefined,
        registry: 'simulated',
        configFile: undefined,
        demoCreditCents: 10_000,
        epp: undefined,
        autoRenewGraceDays: undefined,
        nameservers: ['ns1.ironcraft.test', 'ns2.ironcraft.test'],
        dns: 'embedded',
        dnsHost: '127.0.0.1',
        dnsPort: 5300,
        dnsSecondaries: [],
        aliasPrivateAddresses: 'deny',
        dnssecKeyDays: undefined,
        dnsGuard: { rate: 200, sameRate: 100, slip: 2, exempt: [], cookieSecrets: [] },
        powerDns: undefined,
        stripeKey: undefined,
        stripeUrl: undefined,
        stripeWebhookSecret: undefined,
        seller: undefined,
        mailUrl: undefined,
        mailFrom: 'domains@localhost',
      },
      unknownVariables: [],
    },
  );
  assert.ok(Object.isFrozen(config));
});

test('an empty value counts as absent', () => {
  assert.equal(loadConfig({ IRONCRAFT_PORT: '', IRONCRAFT_DATABASE_URL: ' ' }).port, 8787);
});

test('every variable of the table is read', () => {
  // A value that no setting takes must be noticed for each of them, but for those that take any text.
  const env = Object.fromEntries(ENVIRONMENT.map(({ name }) => [name, '\u0000 no such value, ever/:']));
  const error = captureConfigError(env);
  const unnoticed = ENVIRONMENT.filter(({ name }) => !error.problems.some((line) => line.startsWith(name)));
  assert.deepEqual(
    unnoticed.map(({ name }) => name),
    [
      'IRONCRAFT_DATA_DIR',
      'IRONCRAFT_CATALOG_FILE',
      'IRONCRAFT_SMTP_CERT_FILE',
      'IRONCRAFT_SMTP_KEY_FILE',
      'IRONCRAFT_SANDBOX_BUBBLEWRAP',
      'IRONCRAFT_STRIPE_KEY',
      'IRONCRAFT_STRIPE_WEBHOOK_SECRET',
      'IRONCRAFT_DOMAINS_CONFIG_FILE',
      'IRONCRAFT_DOMAINS_EPP_CLIENT_ID',
      'IRONCRAFT_DOMAINS_EPP_PASSWORD',
      'IRONCRAFT_DOMAINS_EPP_CA_FILE',
      'IRONCRAFT_DOMAINS_POWERDNS_KEY',
      'IRONCRAFT_DOMAINS_STRIPE_KEY',
      'IRONCRAFT_DOMAINS_STRIPE_WEBHOOK_SECRET',
    ],
  );
});

test('mail is taken on a port of its own, with both files of a certificate or none', () => {
  assert.deepEqual(loadConfig({ IRONCRAFT_SMTP_PORT: '2525', IRONCRAFT_HOST: '::' }).mailPort, {
    ...{ host: '::', port: 2525, tls: undefined },
  });
  const files = { IRONCRAFT_SMTP_CERT_FILE: '/a.pem', IRONCRAFT_SMTP_KEY_FILE: '/b.pem' };
  const { mailPort } = loadConfig({ IRONCRAFT_SMTP_PORT: '25', ...files });
  assert.deepEqual(mailPort?.tls, { certFile: '/a.pem', keyFile: '/b.pem' });
  const error = captureConfigError({ IRONCRAFT_SMTP_PORT: '25', IRONCRAFT_SMTP_CERT_FILE: '/a.pem' });
  assert.deepEqual(error.problems, ['IRONCRAFT_SMTP_CERT_FILE and IRONCRAFT_SMTP_KEY_FILE: set both, or none of them']);
});

test('all problems are reported together, with the value and the mend', () => {
  const error = captureConfigError({
    IRONCRAFT_PORT: '99999',
    IRONCRAFT_LOG_LEVEL: 'loud',
    IRONCRAFT_DRAIN_SECONDS: '0',
  });
  assert.deepEqual(error.problems, [
    'IRONCRAFT_PORT="99999": use a whole number from 0 to 65535',
    'IRONCRAFT_LOG_LEVEL="loud": use one of fatal, error, warn, info, debug, trace, silent',
    'IRONCRAFT_DRAIN_SECONDS="0": use a whole number from 1 to 60',
  ]);
  for (const problem of error.problems) assert.ok(error.message.includes(problem));
});

test('a bad secret is named and never shown', () => {
  const error = captureConfigError({
    IRONCRAFT_MASTER_KEY: 'hunter2-hunter2',
    IRONCRAFT_DATABASE_URL: 'mysql://root:hunter2@db/app',
  });
  assert.equal(error.problems.length, 2);
  assert.doesNotMatch(inspect(error), /hunter2/);
});

test('master keys are read as base64, base64url and hex, in order, and do not print', () => {
  const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
  const text = [keys[0].toString('base64'), keys[1].toString('base64url'), keys[2].toString('hex')].join(', ');
  const config = loadConfig({ IRONCRAFT_MASTER_KEY: text });
  assert.deepEqual(
    config.masterKeys.map((key) => key.export().toString('hex')),
    keys.map((key) => key.toString('hex')),
  );
  const printed = inspect(config, { depth: 9 }) + JSON.stringify(config);
  for (const key of keys)
    assert.ok(!printed.includes(key.toString('base64')) && !printed.includes(key.toString('hex')));
});

test('headers for the collector are pairs, with values decoded', () => {
  const { otlp } = loadConfig({
    IRONCRAFT_OTLP_URL: 'https://collector.example.com/otlp/',
    IRONCRAFT_OTLP_HEADERS: 'authorization=Bearer%20a%3Db, x-scope=traces',
  });
  assert.deepEqual(otlp, {
    url: 'https://collector.example.com/otlp',
    headers: { authorization: 'Bearer a=b', 'x-scope': 'traces' },
  });
});

const REFUSED: readonly [string, string][] = [
  ['IRONCRAFT_PORT', '-1'],
  ['IRONCRAFT_PORT', '80.5'],
  ['IRONCRAFT_PORT', 'tcp://10.0.0.1:8787'],
  ['IRONCRAFT_HOST', 'http://localhost'],
  ['IRONCRAFT_PUBLIC_URL', 'agents.example.com'],
  ['IRONCRAFT_PUBLIC_URL', 'ftp://agents.example.com'],
  ['IRONCRAFT_PUBLIC_URL', 'https://user:pw@agents.example.com'],
  ['IRONCRAFT_PUBLIC_URL', 'https://agents.example.com/?a=b'],
  ['IRONCRAFT_DATABASE_URL', 'postgres:'],
  ['IRONCRAFT_DATABASE_URL', 'https://db/app'],
  ['IRONCRAFT_MASTER_KEY', Buffer.alloc(31).toString('base64')],
  ['IRONCRAFT_MASTER_KEY', `${Buffer.alloc(32).toString('base64')},short`],
  ['IRONCRAFT_ADDRESS_CONNECTIONS', '0'],
  ['IRONCRAFT_CONNECTIONS', '1000001'],
  ['IRONCRAFT_STALL_SECONDS', '0'],
  ['IRONCRAFT_READ_SECONDS', '0'],
  ['IRONCRAFT_METRICS_HOST', 'http://localhost'],
  ['IRONCRAFT_METRICS_PORT', '65536'],
  ['IRONCRAFT_METRICS_TOKEN', 'too short'],
  ['IRONCRAFT_TRUST_PROXY', 'true'],
  ['IRONCRAFT_TRUST_PROXY', '10.0.0.0/33'],
  ['IRONCRAFT_OUTBOUND_ALLOW', 'http://intranet'],
  ['IRONCRAFT_OUTBOUND_ALLOW', 'intranet:99999'],
  ['IRONCRAFT_MODEL_PRIVATE_ADDRESSES', 'yes'],
  ['IRONCRAFT_DOMAINS_ALIAS_PRIVATE_ADDRESSES', 'yes'],
  ['IRONCRAFT_DOMAINS_DNSSEC_KEY_DAYS', '6'],
  ['IRONCRAFT_OTLP_URL', 'collector:4318'],
  ['IRONCRAFT_OTLP_HEADERS', 'authorization'],
  ['IRONCRAFT_OTLP_HEADERS', 'authorization=%zz'],
  ['IRONCRAFT_OTLP_HEADERS', 'x-tenant=a%0ab'],
  ['IRONCRAFT_MAIL_DOMAIN_PROOF', 'no'],
  ['IRONCRAFT_DNS_SERVERS', 'ns1.example.com'],
  ['IRONCRAFT_DNS_SERVERS', '192.0.2.53:99999'],
  ['IRONCRAFT_BODY_LIMIT_BYTES', '10mb'],
  ['IRONCRAFT_FILE_LIMIT_BYTES', '1kb'],
  ['IRONCRAFT_USAGE_DAYS', '30'],
  ['IRONCRAFT_BLOCKED_SECONDS', '4'],
  ['IRONCRAFT_BILLING', 'on'],
  ['IRONCRAFT_BILLING_CURRENCY', 'euro'],
  ['IRONCRAFT_BILLING_CURRENCY', 'jpy'],
  ['IRONCRAFT_BILLING_USD_RATE', '0'],
  ['IRONCRAFT_BILLING_USD_RATE', '0,92'],
  ['IRONCRAFT_BILLING_USD_RATE', '1000000.000001'],
  ['IRONCRAFT_BILLING_MARKUP_PERCENT', '1.5'],
  ['IRONCRAFT_BILLING_STARTER_CENTS', '1000001'],
  ['IRONCRAFT_STRIPE_URL', 'stripe.example'],
  ['IRONCRAFT_DOMAINS_REGISTRY', 'epp'],
  ['IRONCRAFT_DOMAINS_EPP_URL', 'https://epp.example.com'],
  ['IRONCRAFT_DOMAINS_NAMESERVERS', 'ns1.example.com'],
  ['IRONCRAFT_DOMAINS_NAMESERVERS', 'ns1.example.com,192.0.2.1'],
  ['IRONCRAFT_DOMAINS_DNS', 'powerdns'],
  ['IRONCRAFT_DOMAINS_DNS_RATE', '-1'],
  ['IRONCRAFT_DOMAINS_DNS_RATE_SLIP', '11'],
  ['IRONCRAFT_DOMAINS_DNS_RATE_EXEMPT', '192.0.2.0/33'],
  ['IRONCRAFT_DOMAINS_DNS_COOKIE_SECRETS', '00112233'],
  ['IRONCRAFT_DOMAINS_DNS_SECONDARIES', 'ns.example.com'],
  ['IRONCRAFT_DOMAINS_DNS_SECONDARIES', '192.0.2.53@absent.key'],
  ['IRONCRAFT_DOMAINS_DNS_TSIG_KEYS', 'a.key:hmac-md5:AAAAAAAAAAAAAAAAAAAAAA=='],
  ['IRONCRAFT_DOMAINS_DNS_TSIG_KEYS', 'a.key:hmac-sha256:AAAA'],
  ['IRONCRAFT_DOMAINS_MAIL_URL', 'mail.example.com'],
  ['IRONCRAFT_DOMAINS_MAIL_FROM', 'Domains'],
  ['IRONCRAFT_DOMAINS_SELLER', 'Example GmbH'],
  ['IRONCRAFT_DOMAINS_VAT_PERCENT', '19,5'],
];

for (const [name, value] of REFUSED) {
  test(`${name}=${value.slice(0, 40)} is refused by name`, () => {
    const error = captureConfigError({ [name]: value });
    assert.equal(error.problems.length, 1);
    assert.ok(error.problems[0]?.startsWith(name), error.message);
  });
}

test('a seller is lines of text and a rate', () => {
  const { domains } = loadConfig({
    IRONCRAFT_DOMAINS_SELLER: 'Example GmbH | Mill Lane 1|VAT DE1 ',
    IRONCRAFT_DOMAINS_VAT_PERCENT: '8.1',
  });
  assert.deepEqual(domains.seller, { lines: ['Example GmbH', 'Mill Lane 1', 'VAT DE1'], vatBasisPoints: 810 });
});

test('a socket folder in the database URL is accepted', () => {
  const url = 'postgresql://app@/app?host=/var/run/postgresql';
  assert.equal(loadConfig({ IRONCRAFT_DATABASE_URL: url }).databaseUrl, url);
});

test('the public URL loses its trailing slash and is otherwise made from host and port', () => {
  const given = loadConfig({ IRONCRAFT_PUBLIC_URL: 'https://agents.example.com/base/' });
  assert.equal(publicUrlFor(given, 1), 'https://agents.example.com/base');
  assert.equal(publicUrlFor(loadConfig({}), 41_000), 'http://127.0.0.1:41000');
  assert.equal(publicUrlFor(loadConfig({ IRONCRAFT_HOST: '0.0.0.0' }), 80), 'http://localhost:80');
  assert.equal(publicUrlFor(loadConfig({ IRONCRAFT_HOST: '[::1]' }), 80), 'http://[::1]:80');
});

test('trusted proxies are a list of networks, or a number of hops', () => {
  assert.deepEqual(loadConfig({ IRONCRAFT_TRUST_PROXY: 'loopback, 10.0.0.0/8' }).trustProxy, [
    'loopback',
    '10.0.0.0/8',
  ]);
  const trust = loadConfig({ IRONCRAFT_TRUST_PROXY: '2' }).trustProxy;
  assert.ok(typeof trust === 'function');
  assert.deepEqual(
    [0, 1, 2].map((hop) => trust('192.0.2.1', hop)),
    [true, true, false],
  );
});

test('an exchange rate is read exactly, and a currency in lower case', () => {
  const rateOf = (text: string) => loadConfig({ IRONCRAFT_BILLING_USD_RATE: text }).billing.usdRateMillionths;
  assert.deepEqual(['1', '0.92', '0.000001', '1000000', '1.100001'].map(rateOf), [1e6, 920_000, 1, 1e12, 1_100_001]);
  assert.equal(loadConfig({ IRONCRAFT_BILLING_CURRENCY: 'USD' }).billing.currency, 'usd');
});

test('a misspelt variable is pointed out', () => {
  assert.deepEqual(loadConfig({ IRONCRAFT_PROT: '1', OTHER: '2' }).unknownVariables, ['IRONCRAFT_PROT']);
});

test('the real environment wins over the .env file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ironcraft-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, '.env'), 'IRONCRAFT_TEST_ONLY=from file\nPATH=/from/file\n');
  const env = readEnvironment(folder);
  assert.equal(env.IRONCRAFT_TEST_ONLY, 'from file');
  assert.equal(env.PATH, process.env.PATH);
});

test('the .env file of the folder is part of the configuration', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ironcraft-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, '.env'), 'IRONCRAFT_DATABASE_POOL_SIZE=77\n');
  assert.equal(loadConfig(undefined, folder).databasePoolSize, 77);
});

function captureConfigError(env: Record<string, string>): ConfigError {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  throw new Error('loadConfig accepted the values');
}

test('secondaries are addresses with or without ports, or networks, and have the keys that they name', () => {
  const { dnsSecondaries } = loadConfig({
    IRONCRAFT_DOMAINS_DNS_TSIG_KEYS: 'A.Key:hmac-sha256:AAAAAAAAAAAAAAAAAAAAAA==',
    IRONCRAFT_DOMAINS_DNS_SECONDARIES: '192.0.2.53@a.key,[2001:db8::53]:5353@a.key.,2001:db8::/32,192.0.2.54:54',
  }).domains;
  const key = { name: 'a.key', algorithm: 'hmac-sha256', secret: Buffer.alloc(16) };
  assert.deepEqual(dnsSecondaries, [
    { address: '192.0.2.53', port: 53, key },
    { address: '2001:db8::53', port: 5353, key },
    { address: '2001:db8::/32', port: 53 },
    { address: '192.0.2.54', port: 54 },
  ]);
});
