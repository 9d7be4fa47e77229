import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startSmtpServer } from '../../../../test/fakes/smtp-server.ts';
import { startDomains, type TestWorkspace } from '../../../../test/support/domains.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import { makeAuthCode } from '../../auth-codes/make-auth-code.ts';
import { createSmtpMailer } from '../../mail/index.ts';
import { addFault, registryDb } from '../../registry/simulated/index.ts';
import { maskAddress } from './mask-address.ts';

const logged: string[] = [];
const logger = createLogger({ logLevel: 'trace' }, { write: (line) => logged.push(line) });
const mail = await startSmtpServer();
const mailer = createSmtpMailer(`smtp://127.0.0.1:${mail.port}`, 'domains@ironcraft.test');
const service = await startDomains({ mailer, logger, simulated: { faults: 'stored' } });
after(async () => {
  await service.close();
  await mail.close();
});

let names = 0;

async function own(prefix = 'code'): Promise<{ workspace: TestWorkspace; name: string; path: string }> {
  names += 1;
  const name = `${prefix}-${names}.com`;
  const workspace = await service.createWorkspace();
  await workspace.fund(10_000);
  await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
  return { workspace, name, path: `/domains/${name}/auth-code` };
}

async function codeAtRegistry(name: string): Promise<string> {
  const rows = registryDb(service.db).selectFrom('registry_domains').select('auth_info');
  return (await rows.where('name', '=', name).executeTakeFirstOrThrow()).auth_info;
}

/** The line of the message that is the code, as a reader of mail sees it. */
function codeIn(content = ''): string | undefined {
  const text = content
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return /^\S{22}(?=\r$)/m.exec(text.slice(text.indexOf('\r\n\r\n') + 4))?.[0];
}

test('the registrant is mailed the code that the registry has, and nobody else learns it', async () => {
  const { workspace, name, path } = await own();
  const { status, body, text } = await workspace.post(path);
  const address = `${workspace.userId}@example.com`;
  assert.deepEqual([status, body], [200, { domain: name, sent_to: 'u***@example.com', status: 'Completed' }]);
  const message = mail.messages.at(-1);
  const code = await codeAtRegistry(name);
  assert.deepEqual([message?.to, codeIn(message?.content)], [[address], code]);
  assert.match(message?.content ?? '', new RegExp(`^Subject: Auth code of ${name}\r$`, 'm'));
  assert.ok(!text.includes(code), 'the answer has the code');
  assert.ok(logged.length > 0 && !logged.join('').includes(code), 'a log has the code');
});

test('each call makes a new code, and a repetition under one key none', async () => {
  const { workspace, name, path } = await own();
  const key = { 'idempotency-key': 'code-1' };
  const first = await workspace.post(path, undefined, key);
  const [code, sent] = [await codeAtRegistry(name), mail.messages.length];
  const again = await workspace.post(path, undefined, key);
  assert.deepEqual([again.headers.get('idempotent-replay'), again.body], ['true', first.body]);
  assert.deepEqual([await codeAtRegistry(name), mail.messages.length], [code, sent]);
  await workspace.post(path);
  assert.notEqual(await codeAtRegistry(name), code);
  assert.equal(mail.messages.length, sent + 1);
});

test('a locked domain gives no code until it is unlocked', async () => {
  const { workspace, name, path } = await own();
  await workspace.patch(`/domains/${name}/settings`, { registrar_lock: true });
  const [code, sent] = [await codeAtRegistry(name), mail.messages.length];
  const { status, body } = await workspace.post(path);
  assert.deepEqual([status, body.error, body.details.reason], [400, 'bad_request', 'registrar_lock']);
  assert.deepEqual([await codeAtRegistry(name), mail.messages.length], [code, sent]);
  await workspace.patch(`/domains/${name}/settings`, { registrar_lock: false });
  assert.equal((await workspace.post(path)).status, 200);
});

test('a mail that is not sent, or a registry that does not answer, is an error, and the call can be repeated', async () => {
  const { workspace, name, path } = await own();
  mail.fail('refuse recipient');
  const unsent = await workspace.post(path);
  assert.deepEqual([unsent.status, unsent.body.error], [500, 'internal']);
  const sent = mail.messages.length;
  await addFault(registryDb(service.db), { command: 'update', namePattern: name, moment: 'after', outcome: 'timeout' });
  const unknown = await workspace.post(path);
  assert.deepEqual([unknown.status, unknown.body.error, mail.messages.length], [500, 'internal', sent]);
  assert.equal((await workspace.post(path)).status, 200);
  assert.equal(codeIn(mail.messages.at(-1)?.content), await codeAtRegistry(name));
});

test('a mailbox is not filled: three codes a minute for one domain', async () => {
  const { workspace, path } = await own();
  for (let count = 0; count < 3; count += 1) assert.equal((await workspace.post(path)).status, 200);
  const { status, body, headers } = await workspace.post(path);
  assert.deepEqual([status, body.error], [429, 'rate_limit_exceeded']);
  assert.ok(Number(headers.get('retry-after')) > 0);
});

test('only the owner’s write token has a code mailed, of a domain that the registry reports', async () => {
  const { workspace, path } = await own();
  const stranger = await service.createWorkspace();
  await workspace.post('/domains', { domain: 'slow-code.com', confirm_price: 11.9 });
  const sent = mail.messages.length;
  const answers = [
    [await service.anybody.post(path), 401, 'missing_token'],
    [await workspace.reader.post(path), 403, 'insufficient_scope'],
    [await stranger.post(path), 404, 'not_found'],
    [await stranger.post('/domains/never-existed.com/auth-code'), 404, 'not_found'],
    [await workspace.post('/domains/slow-code.com/auth-code'), 409, 'pending_at_registry'],
  ] as const;
  for (const [{ status, body }, expected, code] of answers) assert.deepEqual([status, body.error], [expected, code]);
  assert.equal(mail.messages.length, sent);
});

test('codes have every kind of character that a registry may ask for, and differ', () => {
  const codes = Array.from({ length: 1_000 }, makeAuthCode);
  for (const code of codes) {
    assert.match(code, /^[A-Za-z2-9!#%+_-]{22}$/);
    for (const kind of [/[A-Z]/, /[a-z]/, /\d/, /[!#%+_-]/]) assert.match(code, kind);
  }
  assert.equal(new Set(codes).size, codes.length);
});

test('addresses are masked to their first character and their domain', () => {
  assert.deepEqual(['ada@example.com', 'a@b', '@b', 'nonsense'].map(maskAddress), [
    'a***@example.com',
    'a***@b',
    '***',
    '***',
  ]);
});
