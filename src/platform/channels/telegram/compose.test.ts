import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { MessagePart } from '../channel.ts';
import { composeAnswer } from './compose.ts';
import { MESSAGE_LIMIT, renderTelegramHtml, renderTelegramText } from './telegram-html.ts';

function compose(text: string): readonly MessagePart[] {
  return [...composeAnswer({ text, files: [], suggestedReplies: [] })];
}

describe('Markdown becomes what Telegram knows', () => {
  const cases: readonly [markdown: string, html: string][] = [
    ['**bold** *it* ~~no~~ `a < b`', '<b>bold</b> <i>it</i> <s>no</s> <code>a &lt; b</code>'],
    ['# Title\nText & more', '<b>Title</b>\nText &amp; more'],
    ['```ts\nif (a < b) {}\n```', '<pre><code class="language-ts">if (a &lt; b) {}</code></pre>'],
    ['```\nplain\n```', '<pre>plain</pre>'],
    ['- one\n- two\n  - three\n\n1. a\n2. b', '• one\n• two\n  • three\n\n1. a\n2. b'],
    ['- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
    ['> said\n> > again', '<blockquote>said\nagain</blockquote>'],
    ['[here](https://example.com/?a=1&b=2)', '<a href="https://example.com/?a=1&amp;b=2">here</a>'],
    ['<https://example.com>', '<a href="https://example.com">https://example.com</a>'],
    ['![a cat](https://example.com/cat.png)', '<a href="https://example.com/cat.png">a cat</a>'],
    ['|a|b|\n|-|-|\n|1|2|', '<pre>|a|b|\n|-|-|\n|1|2|</pre>'],
    ['one\n\n---\n\ntwo', 'one\n\n———\n\ntwo'],
    ['AT&amp;T &copy; &#8364;', 'AT&amp;T &amp;copy; €'],
  ];
  for (const [markdown, html] of cases) {
    test(JSON.stringify(markdown), () => assert.equal(renderTelegramHtml(markdown), html));
  }

  test('no tag but its own', () => {
    const html = renderTelegramHtml('<script>alert(1)</script>\n\na <b onclick="x">b</b> <a href="tg://x">c</a>');
    assert.doesNotMatch(html, /<(?!\/?(?:b|i|s|a|code|pre|blockquote)\b)/);
    assert.match(html, /&lt;script&gt;/);
  });

  test('nobody is called', () => {
    const html = renderTelegramHtml('@ada, [you](tg://user?id=1) and `@code`, not me@example.com');
    assert.equal(
      html,
      '@\u2060ada, you (tg://user?id=1) and <code>@code</code>, not <a href="mailto:me@example.com">me@example.com</a>'.replace(
        /<a [^>]+>|<\/a>/g,
        '',
      ),
    );
    assert.equal(renderTelegramText('**@ada** `@bob`'), '@\u2060ada @\u2060bob');
  });
});

test('the last text has the replies, and files come behind it', () => {
  const file = { fileId: 'file_1', filename: 'a.png', mediaType: 'image/png' };
  const parts = composeAnswer({
    text: `${'x'.repeat(4_000)}\n\n${'y'.repeat(4_000)}`,
    files: [file],
    suggestedReplies: ['Yes', ' '],
  });
  assert.deepEqual(
    Array.from(parts, (part) => (part.type === 'text' ? [part.text[0], part.replies] : part.file)),
    [['x', undefined], ['y', ['Yes']], file],
  );
  assert.deepEqual(compose(' \n'), []);
});

const markdown = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '# ',
        '- ',
        '1. ',
        '> ',
        '**',
        '*',
        '`',
        '\n',
        '\n\n',
        '@name',
        '[a](http://x.y)',
        '<b>',
        '&amp;',
        '---\n',
        '```\n',
        '|a|b|\n|-|-|\n',
        '👩‍👩‍👧‍👦',
        '![](http://i.k/l)',
        '- [ ] ',
      ),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
    ),
    { maxLength: 600 },
  )
  .map((pieces) => pieces.join(''));

test('whatever the text, each message is one that Telegram takes', () => {
  fc.assert(
    fc.property(markdown, (text) => {
      for (const part of compose(text)) {
        assert.ok(part.type === 'text');
        assert.ok(part.plain.length <= MESSAGE_LIMIT && part.plain.trim() !== '');
        const shown = part.text.replaceAll(/<[^>]*>/g, '').replaceAll(/&(?:amp|lt|gt|quot);/g, '.');
        assert.ok(shown.length <= MESSAGE_LIMIT, `${shown.length}`);
        assert.doesNotMatch(shown, /[<>&]/);
      }
    }),
    { numRuns: 150 },
  );
});
