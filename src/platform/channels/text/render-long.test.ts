import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leastComputedMs } from '../../../../test/support/computed-time.ts';
import { renderMarkdown } from './render-markdown.ts';

/** Far beyond what the bound of the parser allows, and far below what any of these took without it. */
const STALL_MS = 500;
const CHARS = 99_000;

/** Shows what is taken for what. */
const marked = {
  text: (text: string) => text,
  bold: (inner: string) => `<b>${inner}</b>`,
  italic: (inner: string) => `<i>${inner}</i>`,
  struck: (inner: string) => `<s>${inner}</s>`,
  quote: (inner: string) => `<q>${inner}</q>`,
  link: (inner: string, href: string) => `<a ${href}>${inner}</a>`,
  code: (text: string) => `<code>${text}</code>`,
  block: (text: string) => `<pre>${text}</pre>`,
};

test('text of nothing but marks is rendered in a time that is bounded, as it stands', () => {
  const worst = [
    ...['_a', 'a_*', '__a*', '*_a', ' _a', '*a ', '**', '[\\', '[', '![', '[a](b', '<a ', '`', '~~a', '- ', '> - '],
    ...['> a\nb\n', '*a\n\n', '- a\n'],
  ];
  for (const piece of worst) {
    const text = piece.repeat(CHARS / piece.length);
    const tookMs = leastComputedMs(STALL_MS, () => renderMarkdown(text, marked));
    assert.ok(tookMs < STALL_MS, `${JSON.stringify(piece)} took ${Math.round(tookMs)} ms of processor time`);
  }
  for (const text of [
    `${'a.'.repeat(CHARS / 2)}@`,
    `${'>'.repeat(2_000)}\n[a]: b`,
    `\`\`\`\n${'\n'.repeat(CHARS)}x\n\`\`\``,
  ]) {
    const tookMs = leastComputedMs(STALL_MS, () => renderMarkdown(text, marked));
    assert.ok(tookMs < STALL_MS, `${JSON.stringify(text.slice(0, 6))} took ${Math.round(tookMs)} ms of processor time`);
  }
  const emphasis = '_a'.repeat(CHARS / 2);
  assert.equal(renderMarkdown(emphasis, marked), emphasis);
});

test('a long text of every kind is rendered as a short one is', () => {
  const section = [
    '## A *heading* of it',
    `Some **bold** and _italic_ words, \`snake_case_code\`, ~~gone~~, a [link](https://a.example/b_c), and a@b.example. `.repeat(
      4,
    ),
    '- one `item`\n- **another**: with [a link](https://a.example)\n  - within it',
    '> Somebody said\n> so.',
    '| name | value |\n|---|---|\n| a_b | `c` |\n| d | **e** |',
    '```js\nlet a_b = c * d * e;\n```',
  ].join('\n\n');
  const count = Math.floor(CHARS / section.length);
  const once = renderMarkdown(section, marked);
  assert.match(once, /<b>A <i>heading<\/i> of it<\/b>/);
  const rendered = renderMarkdown(Array.from({ length: count }, () => section).join('\n\n'), marked);
  assert.equal(rendered, Array.from({ length: count }, () => once).join('\n\n'));
  const paragraph = 'A long paragraph with **some** words in _it_ and `code`. '.repeat(35).trim();
  assert.equal(renderMarkdown(paragraph, marked).match(/<b>/g)?.length, 35);
});
