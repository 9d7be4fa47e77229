import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { INBOUND_SECRET } from '../../../../test/fakes/mail-world.ts';
import { startPlatform } from '../../../../test/support/platform.ts';

const PATH = '/v1/tenant/email';
const platform = await startPlatform();
after(() => platform.close());
const { mail } = platform;

test('a domain is saved once its mail server takes the login, shown without its secrets, replaced and deleted', async () => {
  const project = await platform.createProject();
  assert.deepEqual((await project.get(PATH)).body, {
    ...{ configured: false, domain: null, smtp_host: null, dkim_selector: null, dns_records: [], secret_keys: [] },
    ...{ webhook_url: null, last_error: null, created_at: null, updated_at: null },
  });
  const { dkim: _key, ...body } = mail.bodyOf();
  const saved = await project.put(PATH, { ...body, domain: body.domain.toUpperCase() });
  assert.equal(saved.status, 200, saved.text);
  const { dns_records: records, created_at, updated_at, ...shown } = saved.body;
  assert.deepEqual(shown, {
    configured: true,
    domain: body.domain,
    smtp_host: `example.com:${mail.smtp.port}`,
    dkim_selector: 'ironcraft',
    secret_keys: ['dkim_private_key', 'inbound_secret', 'smtp_url'],
    webhook_url: `http://127.0.0.1:8787/v1/email/inbound/${project.projectId}`,
    last_error: null,
  });
  assert.deepEqual(
    records.map(({ type, name }: { type: string; name: string }) => [type, name]),
    [
      ['TXT', `ironcraft._domainkey.${body.domain}`],
      ['TXT', `_dmarc.${body.domain}`],
    ],
  );
  const { rows } = await platform.db.query<{ row: string }>({
    text: 'select a::text as row from channel_accounts a where project_id = $1',
    values: [project.projectId],
  });
  for (const secret of ['sesame', INBOUND_SECRET, 'PRIVATE KEY']) {
    assert.ok(![saved.text, rows[0]?.row].join().includes(secret), secret);
  }
  // The key is in the DNS: it stays while the domain does.
  const { inbound_secret: _, ...rest } = body;
  const again = await project.put(PATH, rest);
  assert.deepEqual([again.body.dns_records, again.body.webhook_url], [records, null]);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const own = await project.put(PATH, { ...body, dkim: { selector: 's2026', private_key: pem } });
  assert.equal(own.body.dns_records[0].name, `s2026._domainkey.${body.domain}`, own.text);
  const told = own.body.dns_records[0].value.split('p=')[1];
  const shownKey = createPublicKey({ key: Buffer.from(told, 'base64'), type: 'spki', format: 'der' });
  assert.ok(shownKey.equals(publicKey));
  const other = await project.put(PATH, { ...mail.bodyOf(), dkim: null });
  assert.equal(other.body.dkim_selector, 'ironcraft', 'another domain has a key of its own');
  assert.equal((await project.delete(PATH)).status, 204);
  assertRefusal(await project.delete(PATH), 404, 'not_found');
});

test('what cannot be mail is refused, and nothing is saved', async () => {
  const project = await platform.createProject();
  const body = mail.bodyOf();
  const put = (more: object) => project.put(PATH, { ...body, ...more });
  assertRefusal(await put({ domain: undefined }), 422, 'empty_config');
  assertRefusal(await put({ smtp_url: undefined }), 422, 'empty_config');
  for (const domain of ['a domain', 'localhost', '10.0.0.1', 'a..example', `${'a'.repeat(64)}.example`]) {
    assertRefusal(await put({ domain }), 422, 'invalid_request');
  }
  const urls = ['mail.example.com', 'http://example.com', 'smtp://example.com/path', 'smtp://%ff@example.com'];
  const inner = [
    `smtp://127.0.0.2:${mail.smtp.port}`,
    'smtp://169.254.169.254',
    'smtp://[::1]:25',
    'smtp://nobody.invalid',
  ];
  for (const smtp_url of [...urls, ...inner]) {
    assertRefusal(await put({ smtp_url }), 422, 'invalid_url');
  }
  const tls = await put({ smtp_url: `smtp://us:sesame@example.com:${mail.smtp.port}` });
  assertRefusal(tls, 502, 'email_send_failed');
  assert.ok(!tls.text.includes('sesame'));
  assertRefusal(await put({ smtp_url: 'smtp://example.com:1' }), 502, 'email_send_failed');
  mail.smtp.fail('refuse login');
  assertRefusal(await put({}), 502, 'email_send_failed');
  const { privateKey } = generateKeyPairSync('ed25519');
  for (const key of ['no key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()]) {
    assertRefusal(await put({ dkim: { selector: 'a', private_key: key } }), 422, 'invalid_request');
  }
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('a domain belongs to one project', async () => {
  const [one, other] = [await platform.createProject(), await platform.createProject()];
  const body = mail.bodyOf();
  assert.equal((await one.put(PATH, body)).status, 200);
  assertRefusal(await other.put(PATH, body), 409, 'address_in_use');
});

test('mailboxes are of the project’s domain, each once', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const target = { type: 'smith', id: smithId };
  const make = (body: object) => project.post('/v1/deployments', { target, kind: 'email', ...body });
  const setup = { display_name: 'Help Desk' };
  assertRefusal(await make({ setup }), 422, 'email_unconfigured');
  const { domain } = (await project.put(PATH, mail.bodyOf())).body;
  assertRefusal(await make({}), 422, 'address_required');
  for (const address of ['support@elsewhere.example', `support@sub.${domain}`, `a b@${domain}`, 'support']) {
    assertRefusal(await make({ address }), 422, 'invalid_address');
  }
  assert.equal((await make({ address: `Support@${domain}` })).body.address, `support@${domain}`);
  assertRefusal(await make({ address: `support@${domain}` }), 409, 'handle_unavailable');
  const [first, second, third] = [await make({ setup }), await make({ setup }), await make({ setup: {} })];
  assert.equal(first.body.address, `help-desk@${domain}`, first.text);
  assert.match(second.body.address, /^help-desk-[0-9a-f]{6}@/);
  assert.match(third.body.address, /^smith-[0-9a-f]{6}@/);
  assert.match((await make({ setup: { display_name: 'Postmaster' } })).body.address, /^postmaster-[0-9a-f]{6}@/);
  for (const bad of [{ owner_email: 'nobody' }, { display_name: 'a\r\nBcc: b@c.example' }, { other: 'x' }]) {
    assertRefusal(await make({ setup: bad }), 422, 'invalid_setup');
  }
  assertRefusal(await make({ address: `b@${domain}`, provider_metadata: { other: 1 } }), 422, 'invalid_request');
  const path = `/v1/deployments/${first.body.id}`;
  assertRefusal(await project.patch(path, { owner_email: 'nobody' }), 422, 'invalid_request');
  assert.equal((await project.delete(path)).status, 204);
  assert.equal((await make({ setup })).body.address, `help-desk@${domain}`);
  assert.equal((await project.delete(PATH)).status, 204);
  assert.equal((await project.get(`/v1/deployments/${second.body.id}`)).body.status, 'disconnected');
});
