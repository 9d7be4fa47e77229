import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createManualClock, runWithClock } from '../../../kernel/clock/clock.ts';
import { DemoStream } from './demo-stream.ts';

function* giveWords(count: number): Generator<LanguageModelV4StreamPart, void, void> {
  for (let word = 0; word < count; word += 1) yield { type: 'text-delta', id: '0', delta: 'x' };
}

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

test('a paced stream gives the k-th word k/rate seconds after the first, and makes up for a stall', async () => {
  const clock = createManualClock(new Date(1_000));
  const stream = new DemoStream(giveWords(60), { wordsPerSecond: 200, signal: undefined });
  const times: number[] = [];
  let ended = false;
  const reading = runWithClock(clock, async () => {
    for (let parts = await stream.read(); parts !== undefined; parts = await stream.read()) {
      for (const _ of parts) times.push(clock.elapsedMs());
    }
    ended = true;
  });
  while (!ended && clock.elapsedMs() < 10_000) {
    await new Promise(setImmediate);
    clock.advance(times.length === 20 ? 52 : 1);
  }
  if (!ended) stream.cancel();
  await reading;
  // Word 19 is given at 95; the reader's next look is at 147. From there the timer ticks every 5 ms: no word comes before it is due,
  // none later than at the next tick, and lateness does not add up.
  const due = Array.from({ length: 60 }, (_, word) => word * 5);
  const stalled = due.map((ms) => (ms > 95 ? Math.max(147, ms + 2) : ms));
  assert.deepEqual(times, stalled);
});

test('a paced stream ends when it is aborted before the next word is due', async () => {
  const clock = createManualClock(new Date(1_000));
  const controller = new AbortController();
  const stream = new DemoStream(giveWords(100), { wordsPerSecond: 1, signal: controller.signal });
  await runWithClock(clock, async () => {
    assert.equal((await stream.read())?.length, 1);
    const next = stream.read();
    controller.abort(new Error('enough'));
    await assert.rejects(next, /enough/);
  });
  // The timer that all streams share ends at its next tick; left on this clock, it would stand still for whoever comes next.
  clock.advance(5);
});
