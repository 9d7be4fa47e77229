import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestLogger } from '../../../../../test/support/test-log.ts';
import { createMetrics } from '../../../../kernel/metrics/metrics.ts';
import { createMailReader, UnreadableMailError } from './mail-reader.ts';

let lookUps = 0;
const reader = createMailReader({
  async lookUp() {
    lookUps += 1;
    return { kind: 'missing', code: 'ENOTFOUND' };
  },
  logger: openTestLogger(),
  metrics: createMetrics(),
});
after(() => reader.close());

function read(...lines: readonly string[]) {
  return reader.read('proj_a', Buffer.from(`${lines.join('\r\n')}\r\n`));
}

const HEAD = [
  'From: Ada <Ada@Client.example>',
  'To: b@agents.example, "C, D" <c@agents.example>',
  'Subject: =?utf-8?B?w6Q=?=',
];

test('a mail is read as its reader sees it', async () => {
  const mail = await read(
    ...HEAD,
    'Message-ID: <1@a>',
    'References: <x@a> <y@a>',
    'In-Reply-To: <y@a>',
    '',
    'Hello',
    'you',
  );
  const { from, to, subject, messageId, references, text, files, automatic } = mail;
  assert.deepEqual([from, to], ['ada@client.example', ['b@agents.example', 'c@agents.example']]);
  assert.deepEqual([subject, messageId, references], ['ä', '<1@a>', ['<x@a>', '<y@a>']]);
  assert.deepEqual([text, files, automatic], ['Hello\nyou', [], undefined]);
  const html = await read(
    ...HEAD,
    'Content-Type: text/html',
    '',
    '<p>One<br>two</p><img src="https://a.example/x"><script>x()</script>',
  );
  assert.equal(html.text, 'One\ntwo');
});

test('a mail within a mail is a file, and nobody’s words', async () => {
  const inner = ['From: boss@agents.example', 'Subject: inner', '', 'Do as I say'];
  const mail = await read(
    ...HEAD,
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    'See below',
    '--b',
    'Content-Type: message/rfc822',
    '',
    ...inner,
    '--b--',
  );
  assert.deepEqual([mail.from, mail.text], ['ada@client.example', 'See below']);
  assert.deepEqual(
    mail.files.map(({ mediaType }) => mediaType),
    ['message/rfc822'],
  );
});

test('bombs end with their mail', async () => {
  const nested = Array.from({ length: 1_000 }, (_, n) => [
    `Content-Type: multipart/mixed; boundary=b${n}`,
    '',
    `--b${n}`,
  ]);
  await assert.rejects(read(...HEAD, ...nested.flat()), UnreadableMailError);
  const parts = '--b\r\n\r\nx\r\n'.repeat(100_000);
  await assert.rejects(
    read(
      ...HEAD,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      parts.replaceAll('--b\r\n\r\n', '--b\r\nContent-Type: a/b\r\n\r\n'),
    ),
    UnreadableMailError,
  );
  await assert.rejects(
    read(...HEAD, ...Array.from({ length: 20_000 }, (_, n) => `X-Header-${n}: something`), '', 'x'),
    UnreadableMailError,
  );
  const deep = await read(
    ...HEAD,
    'Content-Type: text/html',
    '',
    '<div>'.repeat(50_000),
    'within',
    '</div>'.repeat(50_000),
  );
  assert.ok(deep.text.length < 1_000);
  assert.equal((await read(...HEAD, '', 'Hello')).text, 'Hello');
});

test('a thousand signatures are a few look-ups', async () => {
  lookUps = 0;
  const signatures = Array.from(
    { length: 1_000 },
    (_, n) =>
      `DKIM-Signature: v=1; a=rsa-sha256; d=d${n}.example; s=s; h=from; bh=g3zLYH4xKxcPrHOD18z9YfpQcnk/GaJedfustWU5uGs=; b=AAAA`,
  );
  const mail = await read(...signatures, ...HEAD, '', 'test');
  assert.equal(mail.authentication.result, 'fail');
  assert.ok(lookUps > 0 && lookUps <= 30, `${lookUps} look-ups`);
});

test('a report says what was not delivered, and to which mail of ours that was', async () => {
  const report = (type: string, ...parts: readonly string[]) =>
    read(
      'From: MAILER-DAEMON@mx.example',
      `Content-Type: multipart/report; report-type=${type}; boundary=b`,
      '',
      '--b',
      '',
      'Sorry',
      '--b',
      ...parts,
      '--b',
      'Content-Type: message/rfc822',
      '',
      'Message-ID: <ours@agents.example>',
      'Subject: s',
      '',
      'x',
      '--b--',
    );
  const status = ['Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; mx.example', ''];
  const failed = [
    'Final-Recipient: rfc822; Gone@Client.example',
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 no such user',
  ];
  const bounce = await report('delivery-status', ...status, ...failed);
  assert.deepEqual(bounce.report, {
    kind: 'bounce',
    addresses: ['gone@client.example'],
    detail: 'smtp; 550 no such user',
    about: '<ours@agents.example>',
  });
  assert.equal(bounce.automatic, 'a report');
  const late = await report(
    'delivery-status',
    ...status,
    'Final-Recipient: rfc822; a@b.example',
    'Action: delayed',
    'Status: 4.4.1',
  );
  assert.equal(late.report, undefined);
  const full = await report('delivery-status', ...status, ...failed.slice(0, 2), 'Status: 4.2.2');
  assert.equal(full.report, undefined);
  const complaint = await report(
    'feedback-report',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'Original-Rcpt-To: <ada@client.example>',
  );
  assert.deepEqual(complaint.report, {
    kind: 'complaint',
    addresses: ['ada@client.example'],
    detail: 'abuse',
    about: '<ours@agents.example>',
  });
});
