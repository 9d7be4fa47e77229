import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeInstance } from '../../../../test/support/schemas.ts';
import { createDemoModel } from '../../models/builtin-demo.ts';
import { LiveTurn, MAX_UNFLUSHED_FRAMES } from '../timeline/live-turn.ts';
import { callModelStep, type ModelStep } from './call-model-step.ts';
import { emptyAnswer } from './collect-answer.ts';

const key = { projectId: 'prj_1', smithId: 'smt_1', threadId: 'thr_1', runId: 'run_1', turn: 1, attempt: 1 };

function ask(text: string, flush: () => Promise<void>): ModelStep {
  return {
    model: createDemoModel(makeInstance),
    config: {
      settings: {
        overrides: {},
        sampling: { temperature: null, top_p: null, stop: [] },
        answer: { format: { type: 'text' }, reasoning_effort: null, max_output_tokens: null },
        tools: { client: [], choice: 'auto', file_search: null },
      },
      model: 'builtin/demo',
      instructions: '',
      hosted_tools: [],
      file_search: null,
      memory: null,
    },
    prompt: [{ role: 'user', content: [{ type: 'text', text }] }],
    tools: [],
    step: 0,
    isFirst: true,
    usedCallIds: new Set(),
    flush,
    limits: undefined,
    buffered: false,
    partial: emptyAnswer(),
  };
}

test('while the store takes no frames, the model is read no further than their bound, and then to its end', async () => {
  const live = new LiveTurn(key, 1);
  const words = MAX_UNFLUSHED_FRAMES + 10_000;
  const refused = Promise.withResolvers<void>();
  let isAway = true;
  let mostFrames = 0;
  let refusals = 0;
  const answer = callModelStep(
    live,
    ask(`Write ${words} words`, async () => {
      mostFrames = Math.max(mostFrames, live.unflushedCount);
      live.beginFlush(Promise.resolve(!isAway));
      await live.flush;
      if (isAway && ++refusals === 3) refused.resolve();
    }),
  );
  await refused.promise;
  isAway = false;
  assert.equal((await answer).text.split(' ').length, words);
  assert.equal(mostFrames, MAX_UNFLUSHED_FRAMES + 1);
});

test('a turn that waits for the store is stopped at once', async () => {
  const live = new LiveTurn(key, 1);
  const refused = Promise.withResolvers<void>();
  const answer = callModelStep(
    live,
    ask(`Write ${MAX_UNFLUSHED_FRAMES + 10} words`, async () => refused.resolve()),
  );
  await refused.promise;
  live.abort.abort(new Error('cancelled'));
  await assert.rejects(answer);
});
