import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { listModels, priceUsage } from './index.ts';
import { loadPriceData } from './price-data.ts';

const AT = new Date('2026-06-01T12:00:00Z');

describe('the price in micro-dollars, worked out by hand', () => {
  // gpt-4o: $2.50 in, $1.25 cached, $10 out for a million tokens: 2.5, 1.25 and 10 micro-dollars for one.
  const cases: { name: string; model: string; usage: Parameters<typeof priceUsage>[1]; expected: number | null }[] = [
    {
      name: 'input and output',
      model: 'openai/gpt-4o',
      usage: { inputTokens: 1000, outputTokens: 50 },
      expected: 3000,
    },
    {
      name: 'cached input',
      model: 'openai/gpt-4o',
      usage: { inputTokens: 1000, outputTokens: 50, cachedInputTokens: 400 },
      expected: 2500,
    },
    { name: 'half a unit, upwards', model: 'openai/gpt-4o', usage: { inputTokens: 1, outputTokens: 0 }, expected: 3 },
    {
      name: 'a quarter, downwards',
      model: 'openai/gpt-4o',
      usage: { inputTokens: 1, outputTokens: 0, cachedInputTokens: 1 },
      expected: 1,
    },
    // gpt-4o-mini: $0.15 and $0.60. 10 × 0.15 = 1.5 exactly, where floats have 0.15 a little below.
    {
      name: 'a price that no float holds',
      model: 'openai/gpt-4o-mini',
      usage: { inputTokens: 10, outputTokens: 0 },
      expected: 2,
    },
    {
      name: 'large counts',
      model: 'openai/gpt-4o-mini',
      usage: { inputTokens: 123_456_789, outputTokens: 987_654_321 },
      expected: 611_111_111,
    },
    // claude-haiku-4-5: $1, $1.25 written to the cache, $0.10 read from it, $5 out.
    {
      name: 'cache reads and writes',
      model: 'anthropic/claude-haiku-4-5',
      usage: { inputTokens: 1000, outputTokens: 10, cachedInputTokens: 300, cacheWriteTokens: 200 },
      expected: 500 + 30 + 250 + 50,
    },
    // claude-haiku has no price of its own for reasoning: it is output.
    {
      name: 'reasoning',
      model: 'anthropic/claude-haiku-4-5',
      usage: { inputTokens: 0, outputTokens: 100, reasoningTokens: 80 },
      expected: 500,
    },
    {
      name: 'a dated name',
      model: 'openai/gpt-4o-2024-08-06',
      usage: { inputTokens: 1000, outputTokens: 0 },
      expected: 2500,
    },
    {
      name: 'more cached than sent',
      model: 'openai/gpt-4o',
      usage: { inputTokens: 100, outputTokens: 0, cachedInputTokens: 900 },
      expected: 125,
    },
    { name: 'nothing', model: 'openai/gpt-4o', usage: { inputTokens: 0, outputTokens: 0 }, expected: 0 },
    { name: 'the built-in model', model: 'builtin/demo', usage: { inputTokens: 1e6, outputTokens: 1e6 }, expected: 0 },
    {
      name: 'an unknown model',
      model: 'openai/of-tomorrow',
      usage: { inputTokens: 1, outputTokens: 1 },
      expected: null,
    },
    {
      name: 'a server of one’s own',
      model: 'ollama/llama3',
      usage: { inputTokens: 1, outputTokens: 1 },
      expected: null,
    },
  ];
  for (const { name, model, usage, expected } of cases) {
    test(`of ${name}`, () => assert.equal(priceUsage(model, usage, AT), expected));
  }

  test('of a long input is that of its tier', () => {
    // claude-opus-4-6 before 13 March 2026: above 200,000 input tokens $10 in place of $5, and $37.50 out.
    const at = new Date('2026-03-01T00:00:00Z');
    const model = 'anthropic/claude-opus-4-6';
    assert.equal(priceUsage(model, { inputTokens: 200_000, outputTokens: 10 }, at), 1_000_250);
    assert.equal(priceUsage(model, { inputTokens: 200_001, outputTokens: 10 }, at), 2_000_010 + 375);
    assert.equal(priceUsage(model, { inputTokens: 200_001, outputTokens: 10 }, AT), 1_000_005 + 250);
  });
});

test('the price of every model agrees with the price package to the micro-dollar', () => {
  const providers: Record<string, string> = { bedrock: 'aws', xai: 'x-ai' };
  const none = { inputTokens: 0, outputTokens: 0 };
  const priced = listModels().filter((model) => model.provider !== 'builtin' && priceUsage(model.id, none) !== null);
  assert.ok(priced.length > 100);
  const { calcPrice } = loadPriceData();
  const tokens = fc.record({
    input: fc.nat(400_000),
    cached: fc.nat(1000),
    written: fc.nat(1000),
    output: fc.nat(50_000),
  });
  fc.assert(
    fc.property(fc.constantFrom(...priced), tokens, ({ id, provider, model }, { input, cached, written, output }) => {
      const inputTokens = input + cached + written;
      const usage = {
        input_tokens: inputTokens,
        cache_read_tokens: cached,
        cache_write_tokens: written,
        output_tokens: output,
      };
      const theirs = calcPrice(usage, model, { providerId: providers[provider] ?? provider, timestamp: AT });
      assert.ok(theirs !== null, id);
      const ours = priceUsage(
        id,
        { inputTokens, outputTokens: output, cachedInputTokens: cached, cacheWriteTokens: written },
        AT,
      );
      assert.ok(
        ours !== null && Math.abs(ours - theirs.total_price * 1e6) <= 0.500001,
        `${id}: ${ours}, ${theirs.total_price}`,
      );
    }),
    { numRuns: 1000 },
  );
});
