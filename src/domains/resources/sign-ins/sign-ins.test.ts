import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { NEEDS_CHROMIUM, startChromium } from '../../../../test/support/browser.ts';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { refusal, startOrders } from '../../../../test/support/orders.ts';
import type { Message } from '../../mail/index.ts';

const waiting = new Map<string, (message: Message) => void>();
const mailed: Message[] = [];
let failures = 0;
const mailer = {
  async send(message: Message) {
    if (failures-- > 0) throw new Error('the mail server is away');
    mailed.push(message);
    waiting.get(message.to)?.(message);
  },
};
const service = await startOrders({ mailer });
const { anybody, clock } = service;
after(() => service.close());

const emailOf = ({ userId }: TestWorkspace) => `${userId}@example.com`;

/** Asks for a link, and reads its code from the message once that has come. */
async function requestCode(email: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<Message>();
  waiting.set(email, resolve);
  const asked = await anybody.post('/sign-ins', { email });
  assert.deepEqual([asked.status, asked.body], [202, { status: 'Requested', expires_in_minutes: 15 }]);
  const [, code] = /^http\S+\/api\/v1\/sign-in#(\S+)$/m.exec((await promise).text) ?? [];
  assert.ok(code);
  return code;
}

const complete = (code: string, headers = {}) => anybody.post('/sign-ins/complete', { code }, headers);

describe('a mailed link', () => {
  test('gives its reader a token that may write, once', async () => {
    const workspace = await service.createWorkspace();
    const code = await requestCode(emailOf(workspace));
    const { status, body } = await complete(code);
    assert.deepEqual([status, body.workspace_id, body.user_id], [201, workspace.workspaceId, workspace.userId]);
    const signedIn = anybody.as(body.token.token);
    assert.equal((await signedIn.post('/tokens', { scope: 'read', name: 'from here' })).status, 201);
    assert.deepEqual(refusal(await complete(code)), [401, 'invalid_token']);
  });

  test('gives one token to those who use it at the same time', async () => {
    const workspace = await service.createWorkspace();
    const code = await requestCode(emailOf(workspace));
    const answers = await Promise.all([complete(code), complete(code), complete(code), complete(code)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401]);
    const names = (await workspace.get('/tokens')).body.tokens.map(({ name }: { name: string }) => name);
    assert.equal(names.filter((name: string) => name === 'sign-in').length, 1);
  });

  test('whose answer was lost gives it again under its Idempotency-Key', async () => {
    const code = await requestCode(emailOf(await service.createWorkspace()));
    const key = { 'idempotency-key': `lost ${code}` };
    const first = await complete(code, key);
    assert.deepEqual((await complete(code, key)).body, first.body);
  });

  test('is void after a quarter of an hour', async () => {
    const code = await requestCode(emailOf(await service.createWorkspace()));
    clock.advance(15 * 60_000);
    assert.deepEqual(refusal(await complete(code)), [401, 'invalid_token']);
  });

  test('is sent again where the mail server was away, and kept nowhere', async () => {
    const workspace = await service.createWorkspace();
    failures = 1;
    const code = await requestCode(emailOf(workspace));
    const { rows } = await service.db.query<{ text: string }>({
      text: `select coalesce(string_agg(s::text, ' '), '') || (select coalesce(string_agg(data::text, ' '), '') from jobs.job) as text
        from domains.sign_ins s`,
    });
    assert.ok(!rows[0]?.text.includes(code));
    assert.equal((await complete(code)).status, 201);
  });
});

test('an address that nobody has signed up with is answered alike, and gets no message', async () => {
  const before = mailed.length;
  const asked = await anybody.post('/sign-ins', { email: 'nobody-here@example.com' });
  assert.deepEqual([asked.status, asked.body], [202, { status: 'Requested', expires_in_minutes: 15 }]);
  // One that was asked for later has been mailed by then.
  await requestCode(emailOf(await service.createWorkspace()));
  assert.equal(mailed.slice(before).filter(({ to }) => to === 'nobody-here@example.com').length, 0);
});

test('rate_limit_exceeded: five links an hour of one address, whether anybody has it or not', async () => {
  for (const email of [emailOf(await service.createWorkspace()), 'limited-nobody@example.com']) {
    clock.advance(3_600_000);
    for (let asked = 0; asked < 5; asked += 1) assert.equal((await anybody.post('/sign-ins', { email })).status, 202);
    const refused = await anybody.post('/sign-ins', { email: email.toUpperCase() });
    assert.deepEqual(refusal(refused), [429, 'rate_limit_exceeded']);
    assert.equal(refused.headers.get('retry-after'), '3600');
    clock.advance(3_600_000);
    assert.equal((await anybody.post('/sign-ins', { email })).status, 202);
  }
});

test('bad_request: what is no address, and no code', async () => {
  for (const email of ['nobody', 'a@b', '']) {
    assert.deepEqual(refusal(await anybody.post('/sign-ins', { email })), [400, 'bad_request'], email);
  }
  assert.deepEqual(refusal(await anybody.post('/sign-ins/complete', {})), [400, 'bad_request']);
  assert.deepEqual(refusal(await complete('made-up')), [401, 'invalid_token']);
});

test('the page of the link runs its own script and nothing else, and tells no other site of the code', async () => {
  const page = await fetch(`${service.url}/sign-in`);
  assert.equal(page.status, 200);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'.*script-src 'sha256-[^']+'; .*connect-src 'self'/);
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
});

test('the page shows the token once its button is pressed, and not before', { skip: NEEDS_CHROMIUM }, async () => {
  const code = await requestCode(emailOf(await service.createWorkspace()));
  const browser = await startChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`${service.url}/sign-in#${code}`);
    assert.equal(await page.locator('output').textContent(), '');
    await page.locator('button').click();
    const shown = page.locator('output', { hasText: 'icd_live_' });
    await shown.waitFor();
    assert.equal((await anybody.as((await shown.textContent()) ?? '').get('/wallet')).status, 200);
    assert.equal(new URL(page.url()).hash, '');
  } finally {
    await browser.close();
  }
});
