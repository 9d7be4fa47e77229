import assert from 'node:assert/strict';
import { test } from 'node:test';
import { composeDiscord } from './compose.ts';
import { toDiscordMarkup } from './markup.ts';

const markup: readonly [markdown: string, expected: string][] = [
  ['**bold** *italic* `code` [link](https://example.com)', '**bold** *italic* `code` [link](https://example.com)'],
  ['# One\n### Three\n#### Four', '# One\n### Three\n**Four**'],
  ['![a cat](https://example.com/cat.png)', '[a cat](https://example.com/cat.png)'],
  ['before\n| a | b |\n|---|---|\n| 1 | 2 |\nafter', 'before\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\nafter'],
  ['~~~js\n| x |\n~~~', '```js\n| x |\n```'],
  ['one\n\n---\n\ntwo', 'one\n\n———\n\ntwo'],
];

for (const [markdown, expected] of markup) {
  test(`${JSON.stringify(markdown)} in Discord's markup`, () => assert.equal(toDiscordMarkup(markdown), expected));
}

test('a long answer is several messages; code goes on in each', () => {
  const code = Array.from({ length: 200 }, (_, n) => `const line${n} = "${n}";`).join('\n');
  const text = `Look:\n\n\`\`\`ts\n${code}\n\`\`\``;
  const parts = [...composeDiscord({ text, files: [], suggestedReplies: ['More', ' '] })];
  assert.ok(parts.length > 1);
  for (const part of parts) {
    assert.ok(part.type === 'text' && part.text.length <= 2_000);
    assert.equal((part.text.match(/```/g) ?? []).length % 2, 0, part.text);
  }
  const last = parts.at(-1);
  assert.deepEqual(last?.type === 'text' ? last.replies : undefined, ['More']);
});
