import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderMarkdown } from './render-markdown.ts';

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

/** More of each than the parser reads: the text is shown as it stands. */
const TOO_MUCH = [
  ...['_a', 'a_*', '__a*', '*_a', ' _a', '*a ', '[\\', '[', '![', '[a](b', '<a ', '~~a', '> - '],
  ...['> a\nb\n', '*a\n\n', '- a\n'],
];

for (const piece of TOO_MUCH) {
  test(`renderMarkdown leaves a text as it stands when it is nothing but ${JSON.stringify(piece)}`, () => {
    const text = piece.repeat(CHARS / piece.length);
    assert.equal(renderMarkdown(text, marked), text.trim());
  });
}

test('renderMarkdown renders one rule or one empty block when a text is one long line of its marks', () => {
  for (const mark of ['*', '- ']) assert.equal(renderMarkdown(mark.repeat(CHARS / mark.length), marked), '———');
  assert.equal(renderMarkdown('`'.repeat(CHARS), marked), '<pre></pre>');
});

test('renderMarkdown renders a long address, nested quotations and blank lines of code as they stand', () => {
  for (const text of [`${'a.'.repeat(CHARS / 2)}@`, `${'>'.repeat(2_000)}\n[a]: b`]) {
    assert.equal(renderMarkdown(text, marked), text);
  }
  const code = `${'\n'.repeat(CHARS)}x`;
  assert.equal(renderMarkdown(`\`\`\`\n${code}\n\`\`\``, marked), `<pre>${code}</pre>`);
});

test('renderMarkdown renders a long text of every kind as it renders a short one', () => {
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
