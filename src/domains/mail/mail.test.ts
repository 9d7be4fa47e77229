import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { startSmtpServer } from '../../../test/fakes/smtp-server.ts';
import { createFileOutbox, createSmtpMailer, RecipientRefused } from './index.ts';

const message = {
  to: 'ada@example.com',
  subject: 'Transfer code of bücher.example',
  text: 'One\n.\n..two\nÄ: x<y&"z"\n',
};

describe('through a mail server', async () => {
  const server = await startSmtpServer();
  after(() => server.close());
  const mailer = createSmtpMailer(`smtp://127.0.0.1:${server.port}`, 'domains@ironcraft.test');

  test('a message arrives at its one recipient as it was written', async () => {
    await mailer.send(message);
    const [received] = server.messages;
    assert.deepEqual([received?.from, received?.to], ['domains@ironcraft.test', ['ada@example.com']]);
    const [head, text] = split(received?.content ?? '');
    assert.match(head, /^Subject: =\?UTF-8\?/m);
    assert.match(head, /^To: <?ada@example\.com>?$/m);
    assert.equal(text, message.text.replaceAll('\n', '\r\n'));
  });

  test('an address or a subject brings no further recipient or header along', async () => {
    const before = server.messages.length;
    await mailer.send({ to: 'eve@example.com', subject: 'x\r\nBcc: mallory@example.com', text: 'x' });
    assert.deepEqual(server.messages[before]?.to, ['eve@example.com']);
    assert.doesNotMatch(split(server.messages[before]?.content ?? '')[0], /^Bcc:/m);
  });

  test('what the server refuses, or does not confirm, is an error', async () => {
    const before = server.messages.length;
    for (const fault of ['refuse recipient', 'refuse message', 'cut'] as const) {
      server.fail(fault);
      await assert.rejects(mailer.send(message), fault);
    }
    assert.equal(server.messages.length, before);
    await mailer.send(message);
    assert.equal(server.messages.length, before + 1);
  });
});

test('an address that takes no mail for good is told apart from what may pass', async () => {
  const server = await startSmtpServer();
  try {
    const mailer = createSmtpMailer(`smtp://127.0.0.1:${server.port}`, 'domains@ironcraft.test');
    server.fail('refuse recipient');
    await assert.rejects(
      mailer.send(message),
      (error) => error instanceof RecipientRefused && /550/.test(error.message),
    );
    for (const fault of ['later', 'refuse message', 'cut'] as const) {
      server.fail(fault);
      await assert.rejects(mailer.send(message), (error) => !(error instanceof RecipientRefused), fault);
    }
  } finally {
    await server.close();
  }
});

test('the user and the password of the address log in', async () => {
  const server = await startSmtpServer({ requireLogin: true });
  try {
    await createSmtpMailer(`smtp://me%40x:p%3Ass@127.0.0.1:${server.port}`, 'domains@ironcraft.test').send(message);
    assert.deepEqual(server.messages[0]?.login, { user: 'me@x', password: 'p:ss' });
    const anonymous = createSmtpMailer(`smtp://127.0.0.1:${server.port}`, 'domains@ironcraft.test');
    await assert.rejects(anonymous.send(message), /530/);
  } finally {
    await server.close();
  }
});

test('nothing is sent without TLS to another machine, unless its address says so', async () => {
  const server = await startSmtpServer();
  try {
    // This machine, under an address that is not recognized as it.
    const address = `smtp://[::ffff:127.0.0.1]:${server.port}`;
    await assert.rejects(createSmtpMailer(address, 'domains@ironcraft.test').send(message), /STARTTLS/);
    assert.equal(server.messages.length, 0);
    await createSmtpMailer(`${address}?tls=optional`, 'domains@ironcraft.test').send(message);
    assert.equal(server.messages.length, 1);
  } finally {
    await server.close();
  }
});

test('a server that nobody is at is an error', async () => {
  const server = await startSmtpServer();
  await server.close();
  const mailer = createSmtpMailer(`smtp://127.0.0.1:${server.port}`, 'domains@ironcraft.test');
  await assert.rejects(mailer.send(message), /ECONNREFUSED/);
});

test('without a mail server messages are whole files that only their owner reads, in the order of sending', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'outbox-'));
  try {
    const folder = join(parent, 'data', 'outbox');
    const outbox = createFileOutbox(folder, 'domains@ironcraft.test');
    await outbox.send(message);
    await outbox.send({ ...message, to: 'bob@example.com' });
    const files = (await readdir(folder)).sort();
    assert.equal(files.length, 2);
    const recipients = [];
    for (const file of files) {
      assert.match(file, /^msg_[0-9a-z]{26}\.eml$/);
      assert.equal((await stat(join(folder, file))).mode & 0o777, 0o600);
      const content = await readFile(join(folder, file), 'utf8');
      recipients.push(/^To: <?([^<>\r\n]*)>?$/m.exec(content)?.[1]);
      assert.match(content, /^From: <?domains@ironcraft\.test>?\r$/m);
      assert.match(content, /\.\.two/);
    }
    assert.deepEqual(recipients, ['ada@example.com', 'bob@example.com']);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    for (let times = 0; times < 2; times += 1) await outbox.send({ ...message, id: 'msg_again' });
    const added = (await readdir(folder)).filter((file) => !files.includes(file));
    assert.deepEqual(added, ['msg_again.eml']);
    assert.match(await readFile(join(folder, 'msg_again.eml'), 'utf8'), /^Message-ID: <msg_again@ironcraft\.test>\r$/m);
  } finally {
    await rm(parent, { recursive: true });
  }
});

test('in a file a long link is one line that can be copied, and every letter is itself', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-'));
  try {
    const link = `https://domains.example/api/v1/sign-in#${'aB-_'.repeat(40)}`;
    const text = `Hello Jürgen,\n\n${link}\n.\n`;
    await createFileOutbox(folder).send({ to: 'ada@example.com', subject: 'Überraschung', text, id: 'msg_link' });
    const content = await readFile(join(folder, 'msg_link.eml'), 'utf8');
    const [head, body] = split(content);
    assert.ok(content.split('\r\n').includes(link));
    assert.equal(body, text.replaceAll('\n', '\r\n'));
    assert.match(head, /^Content-Transfer-Encoding: 8bit$/m);
    assert.match(head, /^Content-Type: text\/plain; charset=utf-8$/m);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Head and text of a message; what quoted-printable or base64 wrote is read back. */
function split(content: string): [head: string, text: string] {
  const end = content.indexOf('\r\n\r\n');
  const [head, body] = [content.slice(0, end).replace(/\r\n/g, '\n'), content.slice(end + 4)];
  if (/base64/i.test(head)) return [head, Buffer.from(body, 'base64').toString().replace(/\r?\n/g, '\r\n')];
  const unfolded = body.replace(/=\r\n/g, '');
  const bytes = unfolded.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return [head, /quoted-printable/i.test(head) ? Buffer.from(bytes, 'latin1').toString() : body];
}
