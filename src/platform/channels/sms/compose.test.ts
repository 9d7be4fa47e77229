import assert from 'node:assert/strict';
import { test } from 'node:test';
import { composeSms } from './compose.ts';

function textsOf(text: string, files: readonly string[] = []): readonly string[] {
  const parts = composeSms({
    text,
    files: files.map((filename) => ({ fileId: filename, filename, mediaType: 'application/pdf' })),
    suggestedReplies: [],
  });
  return Array.from(parts, (part) => (part.type === 'text' ? part.plain : assert.fail('a file')));
}

test('an answer goes without marks', () => {
  const markdown = '# Plan\n\n- **first**\n- `second`\n\n```js\nlet a;\n```\n\nSee [here](https://example.com/a).';
  assert.deepEqual(textsOf(markdown), ['Plan\n\n• first\n• second\n\nlet a;\n\nSee here (https://example.com/a).']);
});

test('a long answer is whole, in messages of 1,600 characters, and no grapheme is cut', () => {
  const family = '👨‍👩‍👧‍👦';
  const text = family.repeat(500);
  const texts = textsOf(text);
  assert.ok(texts.every((one) => one.length <= 1_600 && one.length % family.length === 0));
  assert.equal(texts.join(''), text);
  const words = Array.from({ length: 1_000 }, (_, index) => `word${index}`).join(' ');
  assert.equal(textsOf(words).join(' '), words);
});

test('files are named', () => {
  assert.deepEqual(textsOf('Here it is.', ['report.pdf']), ['Here it is.\n\nreport.pdf cannot be sent by SMS.']);
  assert.deepEqual(textsOf('', ['report.pdf']), ['report.pdf cannot be sent by SMS.']);
});
