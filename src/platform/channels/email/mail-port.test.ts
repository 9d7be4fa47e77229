import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { createTransport } from 'nodemailer';
import type { Options } from 'nodemailer/lib/smtp-transport';
import { testCa, testTls } from '../../../../test/support/epp.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const port = await findFreePort();
const tls = { certFile: testTls.certificateFile, keyFile: testTls.keyFile };
const platform = await startPlatform({ limits: { mailPort: { host: '127.0.0.1', port, tls } } });
after(() => platform.close());
const { mail } = platform;
const project = await platform.createProject();
const { domain } = (await project.put('/v1/tenant/email', mail.bodyOf())).body;
const mailbox = `support@${domain}`;
const target = { type: 'smith', id: await project.createSmith() };
const made = await project.post('/v1/deployments', { target, kind: 'email', address: mailbox });
assert.equal(made.status, 201, made.text);

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

async function bring(
  raw: Buffer,
  to: string | readonly string[],
  from = 'ada@client.example',
  security: Options = { ignoreTLS: true },
): Promise<number> {
  const transport = createTransport({ host: '127.0.0.1', port, ...security });
  try {
    await transport.sendMail({ envelope: { from, to: [to].flat() }, raw });
    return 250;
  } catch (error) {
    return (error as { responseCode?: number }).responseCode ?? 0;
  } finally {
    transport.close();
  }
}

async function typesOf(): Promise<readonly string[]> {
  const { data } = (await project.get('/v1/inbound_events?source=email')).body;
  return data.map(({ type }: { type: string }) => type);
}

test('mail for a mailbox is taken and answered, whatever its headers name', async () => {
  const raw = await mail.write({ from: 'ada@smtp-in.example', to: 'everybody@elsewhere.example' });
  assert.equal(await bring(raw, mailbox.toUpperCase()), 250);
  await eventually(() => mail.sentTo('ada@smtp-in.example')[0], 'the answer');
  assert.equal(await bring(raw, mailbox), 250);
  assert.deepEqual(await typesOf(), ['message']);
});

test('STARTTLS shows the certificate that the operator has set, and mail comes through it', async () => {
  const raw = await mail.write({ from: 'ada@tls-in.example', to: mailbox });
  const over = (trusted: Options['tls']) =>
    bring(raw, mailbox, 'ada@tls-in.example', { requireTLS: true, tls: { servername: 'localhost', ...trusted } });
  assert.equal(await over({}), 0, 'a client that trusts another authority alone brings nothing');
  assert.equal(await over({ ca: testCa }), 250);
  await eventually(() => mail.sentTo('ada@tls-in.example')[0], 'the answer');
});

const hasSwaks = spawnSync('swaks', ['--version'], { stdio: 'ignore' }).error === undefined;

test('swaks brings mail over STARTTLS, and is told whom nobody knows', {
  skip: hasSwaks ? false : 'swaks is not installed: Debian has it in swaks',
}, async () => {
  const raw = await mail.write({ from: 'ada@swaks.example', to: mailbox });
  const send = async (to: string) => {
    const args = ['--server', '127.0.0.1', '--port', String(port), '--tls', '--from', 'ada@swaks.example', '--to', to];
    const swaks = spawn('swaks', [...args, '--data', '-'], { stdio: ['pipe', 'ignore', 'ignore'], timeout: 60_000 });
    swaks.stdin.end(raw);
    const [code] = await once(swaks, 'close');
    return code;
  };
  assert.equal(await send(mailbox), 0);
  await eventually(() => mail.sentTo('ada@swaks.example')[0], 'the answer');
  // None of the recipients was taken.
  assert.equal(await send(`nobody@${domain}`), 24);
});

test('mail for nobody here is refused before it is sent, and nothing is handed on', async () => {
  const raw = await mail.write({ from: 'ada@client.example', to: mailbox });
  for (const to of [`nobody@${domain}`, 'ada@elsewhere.example', 'support@agents.example']) {
    assert.equal(await bring(raw, to), 550, to);
  }
});

test('what nobody signed is noted, a report is no message, and while the DNS is silent mail comes again', async () => {
  const before = (await typesOf()).length;
  assert.equal(
    await bring(await mail.write({ from: 'ada@client.example', to: mailbox, signedBy: null }), mailbox),
    250,
  );
  assert.equal(await bring(await mail.write({ from: 'ada@client.example', to: mailbox }), mailbox, ''), 250);
  assert.deepEqual((await typesOf()).slice(0, -before), ['automatic', 'unauthenticated']);
  const raw = await mail.write({ from: 'ada@silent.example', to: mailbox });
  mail.dns.broken.add('silent.example');
  assert.equal(await bring(raw, mailbox), 451);
  mail.dns.broken.delete('silent.example');
  assert.equal(await bring(raw, mailbox), 250);
});

test('a mail that is too large is refused, and the next one taken', async () => {
  const large = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(26 * 1024 * 1024, 'a\r\n')]);
  assert.equal(await bring(large, mailbox), 552);
  assert.equal(await bring(await mail.write({ from: 'ada@client.example', to: mailbox }), mailbox), 250);
});
