import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { RunRow } from '../engine/store/run-row.ts';
import type { FollowEnd } from '../engine/timeline/follow-timeline.ts';
import { ShownFrame } from '../engine/timeline/frames.ts';
import type { JsonObject } from '../tables.ts';
import { type AnswerReader, readAnswer } from './read-answer.ts';

let seq = 1;

function frame(type: string, data: JsonObject): ShownFrame {
  seq += 1;
  return new ShownFrame('run_1', { seq, type, data, createdAt: '' });
}

function say(text: string, step: number) {
  return frame('message.delta', { text, step });
}

const usage = { input_tokens: 9, output_tokens: 5 };
const completed = () => frame('run.completed', { stop_reason: 'stop', usage });

function read(batches: ShownFrame[][], end: FollowEnd = 'rested') {
  const seen: string[] = [];
  const reader: AnswerReader = {
    showText: (text, step) => seen.push(`${step}: ${text}`),
    showReasoning: (text, step) => seen.push(`${step}? ${text}`),
    restartFrom: (step) => seen.push(`again from ${step}`),
    behind: false,
    drained: async () => {},
  };
  const follow: Engine['follow'] = async (_run, _after, sink) => {
    for (const batch of batches) sink.write(batch);
    return end;
  };
  const run = { config: { settings: { answer: { format: { type: 'text' } } } } } as RunRow;
  const segment = {
    run,
    number: 1,
    after: 1,
    usedBefore: { inputTokens: 4, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 0 },
    from: new Date(),
  };
  const signal = end === 'closed' ? AbortSignal.abort() : new AbortController().signal;
  return { seen, answer: readAnswer({ follow } as Engine, segment, reader, signal) };
}

test('text of a step that is known to be made again is not shown', async () => {
  const { seen, answer } = read([
    [
      say('Kept', 0),
      say('lost', 2),
      frame('run.restarted', { attempt: 2, step: 2 }),
      say('said again', 2),
      completed(),
    ],
  ]);
  assert.deepEqual((await answer)?.usage, {
    inputTokens: 5,
    cachedInputTokens: 0,
    outputTokens: 3,
    reasoningTokens: 0,
  });
  assert.deepEqual(seen, ['0: Kept', 'again from 2', '2: said again']);
});

test('a reader learns of a restart behind what it was shown', async () => {
  const { seen, answer } = read([[say('lost', 0)], [frame('run.restarted', { attempt: 2, step: 0 })], [completed()]]);
  await answer;
  assert.deepEqual(seen, ['0: lost', 'again from 0']);
});

test('nothing is shown of what follows the first rest', async () => {
  const paused = frame('run.paused', { reason: 'tool_result', tool_calls: [], usage });
  const { seen, answer } = read([[say('One', 0), paused, say('Two', 1), completed()]]);
  assert.equal((await answer)?.status, 'paused');
  assert.deepEqual(seen, ['0: One']);
});

test('a server that goes away says that the request may be repeated', async () => {
  const { answer } = read([[say('So', 0)]], 'draining');
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.detail.retryAfterSeconds], ['service_overloaded', 1]);
    return true;
  });
});

test('a reader who has gone is told nothing', async () => {
  assert.equal(await read([[say('So', 0)]], 'closed').answer, undefined);
});
