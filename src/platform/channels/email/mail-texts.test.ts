import assert from 'node:assert/strict';
import { test } from 'node:test';
import { composeMail } from './compose.ts';
import { chatOf, isContinued, messageIdOf, placeOf, threadOf } from './conversation.ts';
import { replyHeaders } from './reply-headers.ts';
import { readSmtpUrl } from './smtp-url.ts';
import { withoutQuote } from './without-quote.ts';

const FILE = { fileId: 'file_1', filename: 'a.pdf', mediaType: 'application/pdf' };

function compose(text: string, more: { readonly files?: (typeof FILE)[]; readonly suggestedReplies?: string[] } = {}) {
  return [...composeMail({ text, files: [], suggestedReplies: [], ...more }, 'ans_1.0')];
}

test('an answer is one mail, as text and as HTML, with its files', () => {
  const parts = compose('# Hi\n\n**bold** [here](https://a.example/?a=1&b=2)\n\n```js\n1 < 2\n```', {
    files: [FILE],
    suggestedReplies: ['Yes', 'No'],
  });
  assert.equal(parts.length, 1);
  const [part] = parts;
  assert.ok(part?.type === 'text');
  assert.deepEqual([part.key, part.files], ['ans_1.0.0', [FILE]]);
  assert.match(part.text, /<b>Hi<\/b>/);
  assert.match(part.text, /<a href="https:\/\/a\.example\/\?a=1&amp;b=2" rel="noopener noreferrer">here<\/a>/);
  assert.match(part.text, /<pre [^>]*>1 &lt; 2<\/pre>/);
  assert.match(part.plain, /bold here \(https:\/\/a\.example\/\?a=1&b=2\)/);
  assert.match(part.plain, /You could answer:\n• Yes\n• No$/);
  assert.deepEqual(compose('', { files: [FILE] }).length, 1);
  assert.deepEqual(compose(''), []);
});

test('nothing in an answer is fetched or runs', () => {
  const nasty = [
    '![x](https://spy.example/p.png)',
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    '[a](javascript:alert(1))',
    '[b](data:text/html,x)',
    '[c](https://a.example/"onmouseover="x)',
    '<style>@import url(https://spy.example)</style>',
  ];
  const [part] = compose(nasty.join('\n\n'));
  assert.ok(part?.type === 'text');
  const tags = part.text.match(/<[^>]*>/g) ?? [];
  for (const tag of tags)
    assert.match(tag, /^<(?:\/?(?:html|head|body|div|b|i|s|blockquote|code|pre|a)\b|!doctype|meta charset)/);
  for (const tag of tags) assert.ok(!/\son\w+=|\ssrc=|javascript:|data:/.test(tag), tag);
});

test('a very long answer is all there, in several mails of keys of their own', () => {
  const words = Array.from({ length: 30_000 }, (_, n) => `word${n}`).join(' ');
  const parts = compose(words);
  assert.ok(parts.length > 1);
  assert.equal(parts.map((part) => (part.type === 'text' ? part.plain : '')).join(' '), words);
  assert.equal(new Set(parts.map((part) => (part.type === 'text' ? part.key : ''))).size, parts.length);
});

test('who answers goes on in the thread, whatever the client names', () => {
  const domain = 'agents.example';
  const root = { messageId: '<1@client.example>', references: [] };
  const thread = threadOf(domain, root);
  assert.deepEqual(placeOf(chatOf('a/b', thread)), { handle: 'a/b', thread });
  const ours = messageIdOf(domain, thread, 'ans_01x.0.0');
  const next = { messageId: '<2@client.example>' };
  assert.equal(threadOf(domain, { ...next, references: [ours] }), thread);
  assert.equal(threadOf(domain, { ...next, references: ['<1@client.example>', ours] }), thread);
  assert.equal(threadOf(domain, { ...next, references: ['<1@client.example>'] }), thread);
  assert.notEqual(threadOf(domain, { ...next, references: [] }), thread);
  assert.deepEqual([isContinued(domain, [ours]), isContinued(domain, ['<1@client.example>'])], [true, false]);
  // What another domain calls so is no thread of ours.
  const theirs = messageIdOf('other.example', thread, 'ans_01x.0.0');
  assert.equal(isContinued(domain, [theirs]), false);
});

test('an answer names the mails before it', () => {
  assert.deepEqual(replyHeaders({ messageId: '<2@a>', references: ['<0@a>', '<1@a>'], subject: 'Hi' }), {
    subject: 'Re: Hi',
    inReplyTo: '<2@a>',
    references: ['<0@a>', '<1@a>', '<2@a>'],
  });
  for (const subject of ['RE: Hi', 'Aw: Hi', 'Re[2]: Hi']) {
    assert.equal(replyHeaders({ messageId: '', references: [], subject }).subject, subject);
  }
  const many = Array.from({ length: 60 }, (_, n) => `<${n}@a>`);
  const { references = [] } = replyHeaders({ messageId: '<z@a>', references: many, subject: '' });
  assert.deepEqual([references.length, references[0], references.at(-1)], [22, '<0@a>', '<z@a>']);
});

test('the quotation that a mail ends with is no part of it', () => {
  const quoted = 'Yes.\n\nOn Mon, 23 Nov 2026 at 12:00, Support <s@a.example> wrote:\n\n> Do you?\n>\n> Really?\n';
  assert.equal(withoutQuote(quoted), 'Yes.');
  assert.equal(
    withoutQuote('Am 23.11.2026 um 12:00 schrieb Support:\n> Ja?'),
    'Am 23.11.2026 um 12:00 schrieb Support:\n> Ja?',
  );
  assert.equal(withoutQuote('> a\n\nNo, as I said:\n\nb'), '> a\n\nNo, as I said:\n\nb');
  assert.equal(withoutQuote('One\n> two\nthree'), 'One\n> two\nthree');
});

test('a mail server is told as a URL', () => {
  assert.deepEqual(readSmtpUrl('smtp://a%40b:p%2Fw@Mail.example'), {
    ...{ host: 'mail.example', port: 587, secure: false, requireTLS: true },
    auth: { user: 'a@b', pass: 'p/w' },
  });
  assert.deepEqual(readSmtpUrl('smtps://[2001:db8::1]'), {
    ...{ host: '2001:db8::1', port: 465, secure: true, requireTLS: false, auth: undefined },
  });
  assert.equal(readSmtpUrl('smtp://mail.example:25?tls=optional').requireTLS, false);
  for (const bad of ['mail.example', 'http://a', 'smtp://', 'smtp://a/b', 'smtp://%zz@a']) {
    assert.throws(() => readSmtpUrl(bad), TypeError);
  }
});
