/** Long answers: all of them is said, and others have their turn meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testLongAnswers } from '../../../../test/support/long-answers.ts';
import type { Engine } from '../../engine/index.ts';
import type { Channel, MessagePart } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import type { OpenAnswer } from './answer-store.ts';
import { composeAnswer } from './compose-answer.ts';

testLongAnswers(32_768);

test('composing an answer gives way to others after each message that takes 10 ms', async () => {
  function* slowly(): Generator<MessagePart, void> {
    for (let number = 0; number < 5; number += 1) {
      const untilMs = performance.now() + 10;
      while (performance.now() < untilMs);
      yield { type: 'text', text: String(number), plain: String(number) };
    }
  }
  const channel = { compose: slowly } as unknown as Channel;
  const answer = { id: 'ans_1', sentence: 'Any.', segments: 0, status: 'completed', pauses: 0 } as OpenAnswer;
  const unused = {} as { engine: Engine; files: ChannelFiles };
  let turns = 0;
  let others = setImmediate(function turn() {
    turns += 1;
    others = setImmediate(turn);
  });
  const { parts, next } = await composeAnswer(unused, channel, answer, new AbortController().signal);
  clearImmediate(others);
  assert.equal(parts.length, 5);
  assert.equal(next, 'planned');
  assert.ok(turns >= 4, `${turns} turns`);
});
