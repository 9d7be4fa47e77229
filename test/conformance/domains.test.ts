/**
 * The domain service as its contract has it (Domain Registration API): endpoints, who may call them, error codes, the
 * document. The tables are read from the operations themselves.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { issueToken, revokeToken } from '../../src/domains/access/tokens.ts';
import { domainErrors } from '../../src/domains/errors.ts';
import type { ErrorEntry } from '../../src/kernel/http/errors.ts';
import { startDomains } from '../support/domains.ts';
import type { Answer, Client } from '../support/platform.ts';
import { sendRaw } from './raw-http.ts';

const service = await startDomains();
after(() => service.close());
const { operations } = service.domains;
type Operation = (typeof operations)[number];

const home = await service.createWorkspace();
const abroad = await service.createWorkspace();
for (const one of [home, abroad]) await one.fund(100_000);
await buyHome('home.com');

async function buyHome(domain: string): Promise<void> {
  const { status, text } = await home.post('/domains', { domain, confirm_price: 11.9 });
  assert.equal(status, 201, text);
}

/** The contract's table of endpoints: method, path, authentication. */
const endpoints = [
  'GET /check public',
  'GET /suggest public',
  'GET /tlds public',
  'POST /accounts public',
  'GET /domains read',
  'GET /domains/{name} read',
  'POST /domains write',
  'POST /domains/{name}/renew write',
  'POST /domains/{name}/transfer write',
  'DELETE /domains/{name} write',
  'PATCH /domains/{name}/settings write',
  'POST /domains/{name}/auth-code write',
  'GET /domains/{name}/zone read',
  'POST /domains/{name}/zone write',
  'DELETE /domains/{name}/zone write',
];

/** What the service offers beside them. */
const ownEndpoints = [
  'GET /claims-notices/{name} read',
  'GET /registrant read',
  'PATCH /registrant write',
  'POST /registrant/verification write',
  'POST /registrant/verification/complete public',
  'GET /verify-registrant public',
  'DELETE /registrant/change write',
  'POST /registrant/change/consent public',
  'GET /consent public',
  'POST /registrant/designated-agent write',
  'DELETE /registrant/designated-agent write',
  'POST /registrant/designated-agent/complete public',
  'GET /designated-agent public',
  'POST /domains/{name}/restore write',
  'POST /domains/{name}/trade write',
  'POST /domains/{name}/transfer-out/approve write',
  'POST /domains/{name}/transfer-out/reject write',
  'POST /domains/{name}/zone/changes write',
  'PATCH /domains/{name}/zone/records/{record_id} write',
  'GET /domains/{name}/ds read',
  'GET /domains/{name}/glue read',
  'PUT /domains/{name}/ds write',
  'GET /domains/{name}/zone/file read',
  'PUT /domains/{name}/zone/file write',
  'GET /sign-in public',
  'POST /sign-ins public',
  'POST /sign-ins/complete public',
  'GET /tokens read',
  'POST /tokens write',
  'DELETE /tokens/{token_id} write',
  'GET /wallet read',
  'GET /wallet/ledger read',
  'GET /wallet/top-ups read',
  'GET /wallet/top-ups/{top_up_id} read',
  'POST /wallet/top-ups write',
  'GET /wallet/auto-top-up read',
  'PUT /wallet/auto-top-up write',
  'POST /wallet/card write',
  'DELETE /wallet/card write',
  'POST /stripe/webhook public',
  'GET /receipts read',
  'GET /receipts/{receipt_id} read',
  'GET /receipts/{receipt_id}/pdf read',
  'GET /events read',
  'GET /events/{event_id} read',
  'GET /webhooks read',
  'POST /webhooks write',
  'GET /webhooks/{webhook_id} read',
  'PATCH /webhooks/{webhook_id} write',
  'DELETE /webhooks/{webhook_id} write',
  'POST /webhooks/{webhook_id}/rotate-secret write',
  'POST /webhooks/{webhook_id}/test write',
  'GET /webhooks/{webhook_id}/deliveries read',
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver write',
  'GET /orders read',
  'GET /orders/{order_id} read',
  'POST /orders/{order_id}/accept-notice write',
];
const all = [...endpoints, ...ownEndpoints];

/** The contract's table of errors. `payment_failed` is 402 where the card is declined. */
const contractErrors: Readonly<Record<string, number>> = {
  missing_token: 401,
  invalid_token: 401,
  revoked_token: 401,
  insufficient_scope: 403,
  not_found: 404,
  bad_request: 400,
  already_in_portfolio: 409,
  price_changed: 409,
  renewal_in_progress: 409,
  insufficient_balance: 402,
  payment_failed: 422,
  email_taken: 409,
  pending_at_registry: 409,
  no_hosted_zone: 409,
  delete_failed: 422,
  registration_failed: 422,
  renew_failed: 422,
  transfer_failed: 422,
  internal: 500,
  idempotency_key_reused: 409,
};
/** What any HTTP service may answer beside them, a change that has to wait for another, and what a call of our own is refused with. */
const furtherErrors = [
  'restore_failed',
  'trade_failed',
  'payload_too_large',
  'pending_operation',
  'rate_limit_exceeded',
  'service_overloaded',
  'storage_unavailable',
];
const catalogue: Readonly<Record<string, ErrorEntry>> = domainErrors;

const pathOf = ({ path }: Operation, name = 'home.com') => path.slice('/api/v1'.length).replace('{name}', name);
const closed = operations.filter(({ posture }) => posture !== 'public');
const writing = closed.filter(({ scope }) => scope === 'write');

test('the endpoints are the contract’s and our own, each for whom it says', () => {
  const served = operations.map(
    ({ method, path, posture, scope }) =>
      `${method} ${path.slice('/api/v1'.length)} ${posture === 'public' ? 'public' : scope}`,
  );
  assert.deepEqual(served.sort(), all.toSorted());
});

test('every mutation honours Idempotency-Key, and no read does', () => {
  // What Stripe sends has no key: a repetition is known by what it is about.
  const called = operations.filter(({ id }) => id !== 'payment_events.receive');
  for (const { id, method, idempotent } of called) assert.equal(idempotent, method !== 'GET', id);
});

test('the catalogue has the contract’s codes with their statuses', () => {
  assert.deepEqual(Object.keys(catalogue).sort(), [...Object.keys(contractErrors), ...furtherErrors].sort());
  for (const [code, status] of Object.entries(contractErrors)) assert.equal(catalogue[code]?.status, status, code);
});

test('docs/errors.md has every code of the service, with its status', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const rows = page.slice(page.indexOf('## The domain service'));
  for (const [code, { status }] of Object.entries(catalogue)) {
    assert.match(
      rows,
      new RegExp(`^\\| \`${code}\` \\| ${code === 'payment_failed' ? '402 or 422' : status} \\|`, 'm'),
    );
  }
});

test('every code of the contract is cited by a test that provokes it', () => {
  const folder = new URL('../../src/domains/', import.meta.url);
  const tests = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
  const text = tests.map((path) => readFileSync(new URL(path, folder), 'utf8')).join('\n');
  const own =
    readFileSync(new URL(import.meta.url), 'utf8')
      .split('// What follows provokes codes.')
      .at(-1) ?? '';
  const uncited = Object.keys(contractErrors).filter((code) => !`${text}${own}`.includes(`'${code}'`));
  assert.deepEqual(uncited, []);
});

test('the document is OpenAPI 3.1 without a fault, and describes what is served', async () => {
  const source = await fetch(`${service.url}/openapi.json`).then((response) => response.text());
  const document = JSON.parse(source);
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(document.components.securitySchemes.bearer.bearerFormat, 'opaque');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  assert.deepEqual(
    problems.map(
      ({ severity, ruleId, message, location }) => `${severity} ${ruleId} ${message} ${location[0]?.pointer}`,
    ),
    [],
  );
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(described.sort(), all.map((line) => line.replace(/ \w+$/, '')).sort());
});

test('the root says what runs here, to people and to programs', async () => {
  const { origin } = new URL(service.url);
  for (const address of [origin, service.url]) {
    const page = await fetch(address, { headers: { accept: 'text/html' } });
    assert.match(await page.text(), /<title>Ironcraft domain registration<\/title>[\s\S]*href="\/api\/v1\/docs"/);
    const facts = (await (await fetch(address)).json()) as { reference: string };
    assert.match(facts.reference, /\/api\/v1\/docs$/);
  }
});

test('the examples of the reference do what they show, in its order', async () => {
  const reader = await service.createWorkspace();
  await reader.fund(100_000);
  const document = (await fetch(`${service.url}/openapi.json`).then((response) => response.json())) as {
    paths: Record<string, Record<string, Described>>;
  };
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ path, method: method.toUpperCase(), ...one })),
  );
  const examples = described.flatMap(({ requestBody, ...one }) => {
    const media = requestBody?.content['application/json'];
    return media === undefined ? [] : [{ ...one, example: media.example }];
  });
  // What is restored was deleted before; whoever transfers a domain brings the code that its present registrar gave for it; cards are taken where there is a
  // payment provider; codes come by mail; a notice is accepted where a trademark claims the name; holders are traded where a registry does that.
  const without = examples.filter(({ example }) => example === undefined).map(({ operationId }) => operationId);
  assert.deepEqual(without.toSorted(), [
    'domains.restore',
    'domains.trade',
    'domains.transfer',
    'orders.accept_notice',
    'registrant.complete_agent',
    'registrant.complete_verification',
    'registrant.consent',
    'sign_ins.complete',
    'top_ups.create',
  ]);
  // What is created is there for what follows; what is deleted goes last.
  const inOrder = examples.toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
  const registration = inOrder.find(({ operationId }) => operationId === 'domains.register');
  const { domain = '' } = (registration?.example ?? {}) as { domain?: string };
  for (const { operationId, path, method, example } of inOrder) {
    if (example === undefined) continue;
    const named = path.replace('{name}', domain);
    const [record = ''] = named.includes('{record_id}') ? await recordsOf(reader, domain) : [];
    const [hook] = (await reader.get('/webhooks')).body.webhooks;
    const exact = named.replace('{record_id}', record).replace('{webhook_id}', hook?.id);
    const answer = await reader.open(method, exact, example);
    assert.ok(answer.ok, `${operationId}: ${answer.status} ${await answer.text()}`);
  }
});

/** The ids of those that are not the service's. */
async function recordsOf(client: Client, domain: string): Promise<string[]> {
  const { body } = await client.get(`/domains/${domain}/zone`);
  return body.records.flatMap(({ id }: { id: string | null }) => (id === null ? [] : [id]));
}

interface Described {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

test('the reference page is served under the base path', async () => {
  const { status, text } = await service.anybody.get('/docs/');
  assert.equal(status, 200);
  assert.match(text, /swagger/i);
});

// What follows provokes codes.

function assertRefusal({ status, body, text }: Answer, code: string): void {
  assert.deepEqual([status, body?.error], [contractErrors[code], code], text);
  assert.deepEqual(Object.keys(body), ['error', 'details']);
  assert.match(body.details.message, /^[A-Z`].+\.$/);
}

async function send(client: Client, { method, id }: Operation, path: string, body?: unknown): Promise<Answer> {
  const response = await client.open(
    method,
    path,
    method === 'GET' || id === 'domains.delete' || id === 'tokens.revoke' ? undefined : (body ?? {}),
  );
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

describe('who is not proven is told how', async () => {
  const revoked = await service.db.transaction(async (tx) => {
    const { id, token } = await issueToken(tx, home.workspaceId, { userId: null, scope: 'write', name: 'ended' });
    await revokeToken(tx, home.workspaceId, id, new Date());
    return token;
  });
  for (const operation of closed) {
    test(operation.id, async () => {
      const path = pathOf(operation);
      assertRefusal(await send(service.anybody, operation, path), 'missing_token');
      assertRefusal(await send(service.anybody.as('icd_live_nonsense'), operation, path), 'invalid_token');
      assertRefusal(await send(service.anybody.as('tha_live_of_the_platform'), operation, path), 'invalid_token');
      assertRefusal(await send(service.anybody.as(revoked), operation, path), 'revoked_token');
    });
  }
});

test('a token has one text', async () => {
  const { token } = home;
  const secret = token.slice('icd_live_'.length);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  // 32 bytes are 43 characters, the last of which has two bits that no byte has a part in.
  const otherSpelling = token.slice(0, -1) + alphabet.charAt(alphabet.indexOf(token.slice(-1)) | 1);
  const texts = [
    secret,
    `tha_live_${secret}`,
    `ICD_LIVE_${secret}`,
    `icd_live_${token}`,
    `${token}=`,
    `${token}.`,
    `${token}A`,
    token.slice(0, -1),
    otherSpelling,
    token.toLowerCase(),
  ];
  assert.equal((await home.get('/domains')).status, 200);
  for (const text of texts) {
    const { status, body } = await service.anybody.as(text).get('/domains');
    assert.deepEqual([status, body.error], [401, 'invalid_token'], text.slice(0, 12));
  }
});

describe('a token that may only read changes nothing', () => {
  for (const operation of writing) {
    test(operation.id, async () => {
      const answer = await send(home.reader, operation, pathOf(operation));
      assertRefusal(answer, 'insufficient_scope');
      assert.equal(answer.body.details.required_scope, 'write');
    });
  }
});

describe('another workspace’s domain and one that never was are the same', () => {
  const bodies: Readonly<Record<string, object>> = {
    'domains.renew': { confirm_price: 11.9 },
    'domains.restore': { confirm_price: 99 },
    'domains.trade': { confirm_price: 9.9 },
    'settings.update': { auto_renew: false },
    'zones.create_record': { subdomain: 'www', type: 'A', value: '192.0.2.1' },
    'zone_records.change': { changes: [{ action: 'create', subdomain: 'www', type: 'A', value: '192.0.2.1' }] },
    'delegation_signers.replace': { ds_records: [] },
    'zone_files.import': { zone_file: '; none' },
    'zones.delete_record': { subdomain: 'www', type: 'A', value: '192.0.2.1' },
  };
  // A transfer names a domain that is not in the portfolio yet.
  const named = closed.filter(({ id, path }) => path.includes('{name}') && id !== 'domains.transfer');
  for (const operation of named) {
    test(operation.id, async () => {
      const body = bodies[operation.id];
      const foreign = await send(abroad, operation, pathOf(operation), body);
      const never = await send(abroad, operation, pathOf(operation, 'never.com'), body);
      assertRefusal(foreign, 'not_found');
      assert.equal(foreign.text, never.text);
    });
  }
});

describe('what does not validate is refused by name', () => {
  const wrong: readonly [what: string, send: () => Promise<Answer>][] = [
    ['an unknown member', () => home.post('/domains', { domain: 'x.com', confirm_price: 1, colour: 'red' })],
    ['a missing member', () => home.post('/domains', { domain: 'x.com' })],
    ['a member of another type', () => home.post('/domains', { domain: 5, confirm_price: 1 })],
    ['no JSON', () => home.post('/domains', '{')],
    ['a query without its text', () => service.anybody.get('/check')],
    ['a name in mixed scripts', () => home.get('/domains/p%D0%B0ypal.com')],
    ['a name that is none', () => home.get('/domains/..')],
    [
      'an Idempotency-Key of control characters',
      () => home.patch('/domains/home.com/settings', {}, { 'idempotency-key': '\t' }),
    ],
  ];
  for (const [what, ask] of wrong) {
    test(what, async () => {
      const answer = await ask();
      if (what === 'a name that is none') assert.equal(answer.status, 404);
      else assertRefusal(answer, 'bad_request');
    });
  }

  test('what is no HTTP', async () => {
    const answer = await sendRaw(service.url, ['GARBAGE']);
    assert.equal(answer.status, 400);
    assert.equal(JSON.parse(answer.text).error, 'bad_request');
  });
});

test('an unknown route is not_found, in the service’s envelope', async () => {
  assertRefusal(await home.get('/nothing'), 'not_found');
  assertRefusal(await service.anybody.post('/domains/home.com/zone/x'), 'not_found');
});

test('lists may be kept by nobody', async () => {
  for (const path of [
    '/domains',
    '/domains/home.com/zone',
    '/wallet',
    '/wallet/ledger',
    '/wallet/top-ups',
    '/orders',
  ]) {
    assert.equal((await home.get(path)).headers.get('cache-control'), 'private, no-store');
  }
});
