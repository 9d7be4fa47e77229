import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { DemoStream } from './demo-stream.ts';

test('nothing is made ahead of a reader that stands still, beyond a burst', async () => {
  let made = 0;
  function* endless(): Generator<LanguageModelV4StreamPart, void, void> {
    for (;;) {
      made++;
      yield { type: 'text-delta', id: '0', delta: 'x' };
    }
  }
  const stream = new DemoStream(endless(), { wordsPerSecond: undefined, signal: undefined });
  for (let index = 0; index < 10; index++) await stream.read();
  for (let index = 0; index < 50; index++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(made >= 10 && made <= 10 * 64, `made ${made}`);
  stream.cancel();
  assert.equal(await stream.read(), undefined);
});
