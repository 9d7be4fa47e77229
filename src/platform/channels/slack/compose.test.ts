import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessagePart } from '../channel.ts';
import { composeSlack } from './compose.ts';

function compose(text: string, more: Partial<Parameters<typeof composeSlack>[0]> = {}): readonly MessagePart[] {
  return [...composeSlack({ text, files: [], suggestedReplies: [], ...more })];
}

function textOf(markdown: string): string {
  const [part] = compose(markdown);
  return part?.type === 'text' ? part.text : '';
}

test('Markdown becomes Slack’s markup', () => {
  for (const [markdown, expected] of [
    ['# Title', '*Title*'],
    ['**bold *both* bold** and *it*', '*bold _both_ bold* and _it_'],
    ['~~gone~~', '~gone~'],
    ['a `b < c` d', 'a `b &lt; c` d'],
    ['```js\na < b\n```', '```\na &lt; b\n```'],
    ['> said', '> said'],
    ['- one\n- two', '• one\n• two'],
    ['[here](https://a.example/?a=1&b=2)', '<https://a.example/?a=1&amp;b=2|here>'],
    ['AT&T <b>', 'AT&amp;T &lt;b&gt;'],
  ] as const) {
    assert.equal(textOf(markdown), expected);
  }
});

test('nobody is called', () => {
  const calls = [
    '<!channel>',
    '<!here|here>',
    '<@U0ADA>',
    '<!subteam^S1>',
    '[x](!channel)',
    '[<!channel>](https://a.example)',
  ];
  for (const markdown of calls) {
    const [part] = compose(`${markdown} \`${markdown}\``);
    assert.equal(part?.type, 'text');
    if (part?.type !== 'text') continue;
    for (const written of [part.text, part.plain]) {
      assert.doesNotMatch(written.replaceAll(/<https:[^<>|]+\|/g, ''), /<[!@#]/, written);
    }
  }
});

test('a long answer is sent in parts of 12,000 characters, and code goes on as code', () => {
  const code = `\`\`\`\n${'a line of code & more\n'.repeat(1_500)}\`\`\``;
  const parts = compose(code);
  assert.ok(parts.length > 2);
  for (const part of parts) {
    const text = part.type === 'text' ? part.text : '';
    assert.ok(text.length <= 12_000, String(text.length));
    assert.match(text, /^```\n[^`]*\n```$/);
  }
  const family = '👨‍👩‍👧‍👦';
  const broken = compose(family.repeat(3_000)).map((part) => (part.type === 'text' ? part.text : ''));
  assert.ok(broken.every((text) => text.replaceAll(family, '') === ''));
});

test('the last text has the suggested replies, and files follow', () => {
  const file = { fileId: 'file_1', filename: 'a.png', mediaType: 'image/png', bytes: 3 };
  const parts = compose(`${'word '.repeat(3_000)}`, { files: [file], suggestedReplies: ['Yes', ' ', 'No'] });
  assert.deepEqual(
    parts.map((part) => (part.type === 'text' ? part.replies : part.file.fileId)),
    [undefined, ['Yes', 'No'], 'file_1'],
  );
});
