import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePromptTokens, estimateTokens, TokenCounter } from './index.ts';
import { takeTokens } from './tokens.ts';

const here = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');

/** The estimate divided by the true count lies between these: rarely a little low, never far. */
const TEXTS: Record<string, { text: string | Promise<string>; least: number; most: number }> = {
  'English prose': {
    text: 'The quick brown fox jumps over the lazy dog. An agent platform keeps working memory, meters usage against budgets, and delivers signed webhooks. Customers expect answers within seconds; nevertheless, internationalization remains surprisingly complicated. Please let us know whether the invoice from last Tuesday has arrived, because our accountant would like to close the books before the end of the month.',
    least: 0.95,
    most: 1.3,
  },
  TypeScript: { text: here('./catalogue.ts'), least: 0.95, most: 1.35 },
  JSON: { text: here('../../../package.json'), least: 0.9, most: 1.35 },
  Chinese: {
    text: '人工智能平台可以帮助企业更高效地完成工作。今天天气很好，我们一起去公园散步吧。机器学习模型需要大量的数据。',
    least: 0.95,
    most: 1.8,
  },
  Japanese: {
    text: '人工知能プラットフォームは、企業がより効率的に作業を完了するのに役立ちます。今日は天気がいいので、公園を散歩しましょう。',
    least: 0.95,
    most: 1.7,
  },
  Korean: {
    text: '인공지능 플랫폼은 기업이 더 효율적으로 작업을 완료하도록 도와줍니다. 오늘은 날씨가 좋으니 공원을 산책합시다.',
    least: 0.95,
    most: 1.6,
  },
  Russian: {
    text: 'Платформа искусственного интеллекта помогает компаниям работать эффективнее. Сегодня хорошая погода, пойдём гулять в парк.',
    least: 0.95,
    most: 2.2,
  },
  German: {
    text: 'Die Geschwindigkeitsbegrenzung auf der Autobahn wird für Lastkraftwagen überprüft, während Personenkraftwagen schneller fahren dürfen.',
    least: 0.95,
    most: 1.5,
  },
  Arabic: {
    text: 'منصة الذكاء الاصطناعي تساعد الشركات على العمل بكفاءة أكبر. الطقس جميل اليوم فلنذهب إلى الحديقة.',
    least: 0.95,
    most: 1.8,
  },
  Hindi: {
    text: 'कृत्रिम बुद्धिमत्ता मंच कंपनियों को अधिक कुशलता से काम करने में मदद करता है। आज मौसम अच्छा है।',
    least: 0.95,
    most: 1.7,
  },
  emoji: { text: '😀😃😄🎉🚀🔥👍🏽👨‍👩‍👧‍👦❤️🇫🇷 ✨🙏🏻💯', least: 0.95, most: 1.4 },
  identifiers: {
    text: '3f2504e0-4f89-11d3-9a0c-0305e82c3301 9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
    least: 0.85,
    most: 1.3,
  },
  base64: {
    text: Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7919) % 256)).toString('base64'),
    least: 0.8,
    most: 1.3,
  },
  'a table': { text: '| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n'.repeat(10), least: 0.8, most: 1.3 },
};

describe('the estimate, held against the o200k tokenizer, is within its bounds', () => {
  for (const [name, { text, least, most }] of Object.entries(TEXTS)) {
    test(`for ${name}`, async () => {
      const content = await text;
      const ratio = estimateTokens(content) / encode(content).length;
      assert.ok(ratio >= least && ratio <= most, `${ratio.toFixed(2)} is not between ${least} and ${most}`);
    });
  }
});

test('the count does not depend on how a text is cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (pieces) => {
      const counter = new TokenCounter();
      for (const piece of pieces) counter.add(piece);
      assert.equal(counter.total, estimateTokens(pieces.join('')));
    }),
  );
});

test('a text is cut at the limit, never above it and at most one token below, and never inside a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.nat(30), (text, limit) => {
      const counter = new TokenCounter();
      const taken = takeTokens(counter, text, limit);
      assert.ok(text.startsWith(taken));
      assert.equal(counter.total, estimateTokens(taken));
      assert.ok(counter.total <= limit);
      assert.ok(taken.isWellFormed() || !text.isWellFormed());
      if (taken.length < text.length) assert.ok(counter.total >= limit - 1);
    }),
  );
});

test('an estimate of a long text is that of its pieces together', () => {
  const piece = 'The quick brown fox jumps over the lazy dog, {"and": [1, 22, 333]} ';
  const counter = new TokenCounter();
  for (let n = 0; n < 3_000; n += 1) counter.add(piece);
  assert.equal(estimateTokens(piece.repeat(3_000)), counter.total);
});

test('a prompt counts its messages, tool calls, results, files and tools', () => {
  const plain = estimatePromptTokens([{ role: 'user', content: [{ type: 'text', text: 'one two three' }] }]);
  assert.equal(plain, 4 + 3);
  const full = estimatePromptTokens(
    [
      { role: 'system', content: 'one two' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: { q: 'rain' } }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: 'one two' } },
        ],
      },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: '' } }] },
    ],
    [{ type: 'function', name: 'look', inputSchema: {} }],
  );
  const call = estimateTokens('look') + estimateTokens('{"q":"rain"}');
  const tool = 8 + estimateTokens(JSON.stringify({ type: 'function', name: 'look', inputSchema: {} }));
  assert.equal(full, 4 * 4 + 2 + call + 2 + 512 + tool);
});

test('a long text counts as its pieces do, each time it is asked for', () => {
  const text = 'Tea is picked in spring. 茶は春に摘まれる。 '.repeat(4_000);
  const counter = new TokenCounter();
  for (let at = 0; at < text.length; at += 9_999) counter.add(text.slice(at, at + 9_999));
  const total = counter.add('');
  assert.deepEqual(
    [estimateTokens(text), estimateTokens(text), estimateTokens(`${text} `.trimEnd())],
    [total, total, total],
  );
  assert.notEqual(estimateTokens(`${text}and more`), total);
});
