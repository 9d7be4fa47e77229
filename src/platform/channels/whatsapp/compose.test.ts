import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { composeWhatsApp } from './compose.ts';
import { toWhatsAppMarkup } from './markup.ts';

const noFiles = { files: [], suggestedReplies: [] };

function compose(answer: ComposedAnswer): readonly MessagePart[] {
  return [...composeWhatsApp(answer)];
}

const withoutBlanks = (text: string) => text.replaceAll(/\s/g, '');

const markup: readonly [markdown: string, expected: string][] = [
  ['**bold** and *italic* and ~~gone~~', '*bold* and _italic_ and ~gone~'],
  ['**bold *and* italic**, __bold__, _italic_', '*bold _and_ italic*, *bold*, _italic_'],
  ['snake_case_name, 2 * 3 * 4', 'snake_case_name, 2 * 3 * 4'],
  ['**two\nlines**', '*two*\n*lines*'],
  ['## Heading with **bold** ##', '*Heading with bold*'],
  [
    '[the docs](https://example.com/a) and ![a cat](https://example.com/cat.png)',
    'the docs (https://example.com/a) and a cat (https://example.com/cat.png)',
  ],
  ['https://example.com/__init__.py', 'https://example.com/__init__.py'],
  ['1. one\n2. **two**', '1. one\n2. *two*'],
  ['> a *quotation*\n> of two lines', '> a _quotation_\n> of two lines'],
  ['`**code**` and **`x`**', '`**code**` and *`x`*'],
  ['```ts\nconst a = **b**;\n```\nafter', '```\nconst a = **b**;\n```\nafter'],
  ['| a | b |\n|---|---|\n| 1 | 2 |', '```\n| a | b |\n|---|---|\n| 1 | 2 |\n```'],
  ['a \\*star\\*', 'a *star*'],
];

for (const [markdown, expected] of markup) {
  test(`${JSON.stringify(markdown)} in WhatsApp's markup`, () => assert.equal(toWhatsAppMarkup(markdown), expected));
}

test('composeWhatsApp makes messages of a text of nothing but signs, none of them too long', () => {
  const rule = '———';
  const shown: readonly [sign: string, message?: string][] = [
    ['**', rule],
    ['- ', rule],
    ['`', '```\n\n```'],
  ];
  for (const [sign, message = ''] of shown) {
    const parts = compose({ text: sign.repeat(20_000), ...noFiles });
    assert.deepEqual(new Set(parts.map((part) => part.type === 'text' && part.text)), new Set([message]));
  }
  for (const sign of ['*a', '[', '](', '~~x', '| ', '> ', '__a ', '\\']) {
    const text = sign.repeat(20_000);
    const texts = compose({ text, ...noFiles }).map((part) => (part.type === 'text' ? part.text : ''));
    assert.ok(texts.every((message) => message.length <= 4_096));
    assert.equal(withoutBlanks(texts.join('')), withoutBlanks(text), JSON.stringify(sign));
  }
  const headings = compose({ text: '# '.repeat(20_000), ...noFiles });
  assert.ok(headings.every((part) => part.type === 'text' && /^\*(?:# )*#\*$/.test(part.text)));
});

test('a long answer is several messages, none of them too long, and all of it together', () => {
  const text = Array.from({ length: 400 }, (_, n) => `${n} Grüße 👩‍👩‍👧 and more`).join('\n');
  const parts = compose({ text, ...noFiles });
  assert.ok(parts.length > 1);
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''));
  assert.ok(texts.every((part) => part.length <= 4_096));
  assert.equal(texts.join('\n'), text);
});

test('suggested replies are the last message’s, which is short enough for buttons', () => {
  const suggestedReplies = ['Yes', 'No', 'Tell me everything about it', 'More'];
  const paragraph = 'word '.repeat(100).trim();
  const text = Array.from({ length: 12 }, () => paragraph).join('\n\n');
  const parts = compose({ text, files: [], suggestedReplies });
  const last = parts.at(-1);
  assert.ok(last?.type === 'text' && last.text.length <= 1_024, JSON.stringify(last));
  assert.deepEqual(last.replies, suggestedReplies.slice(0, 3));
  assert.ok(parts.slice(0, -1).every((part) => part.type === 'text' && part.replies === undefined));
  assert.equal(parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n'), text);
  // Without a paragraph to end at.
  const words = compose({ text: 'word '.repeat(500).trim(), files: [], suggestedReplies });
  assert.ok(words.every((part) => part.type === 'text' && part.text.length <= 1_024));
});

test('files follow; those that WhatsApp takes none of are named', () => {
  const file = (filename: string, mediaType: string) => ({ fileId: filename, filename, mediaType });
  const files = [
    file('a.png', 'image/png'),
    file('b.zip', 'application/zip'),
    file('c.csv', 'text/csv; charset=utf-8'),
  ];
  const parts = compose({ text: 'Here', files, suggestedReplies: [] });
  assert.deepEqual(
    parts.map((part) => (part.type === 'text' ? part.text : part.file.filename)),
    ['Here\n\nb.zip cannot be sent over WhatsApp.', 'a.png', 'c.csv'],
  );
  assert.deepEqual(compose({ text: ' ', ...noFiles }), []);
});
