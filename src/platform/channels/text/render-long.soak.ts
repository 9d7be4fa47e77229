/** Text that is costly to parse holds nobody up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { renderMarkdown } from './render-markdown.ts';

/** Far beyond what the bound of the parser allows, and far below what any of these took without it. */
const STALL_MS = 500;
const CHARS = 99_000;

const plain = {
  text: (text: string) => text,
  bold: (inner: string) => inner,
  italic: (inner: string) => inner,
  struck: (inner: string) => inner,
  quote: (inner: string) => inner,
  link: (inner: string, href: string) => `${inner} ${href}`,
  code: (text: string) => text,
  block: (text: string) => text,
};

const worst = [
  ...['_a', 'a_*', '__a*', '*_a', ' _a', '*a ', '**', '[\\', '[', '![', '[a](b', '<a ', '`', '~~a', '- ', '> - '],
  ...['> a\nb\n', '*a\n\n', '- a\n'],
].map((piece) => piece.repeat(CHARS / piece.length));
const texts = [
  ...worst,
  `${'a.'.repeat(CHARS / 2)}@`,
  `${'>'.repeat(2_000)}\n[a]: b`,
  `\`\`\`\n${'\n'.repeat(CHARS)}x\n\`\`\``,
];

for (const text of texts) {
  test(`renderMarkdown computes less than ${STALL_MS} ms when a text goes on like ${JSON.stringify(text.slice(0, 6))}`, async () => {
    const tookMs = await medianComputedMs(() => renderMarkdown(text, plain));
    assert.ok(tookMs < STALL_MS, `${Math.round(tookMs)} ms of processor time`);
  });
}
