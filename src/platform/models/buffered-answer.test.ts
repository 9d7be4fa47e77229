import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type AnthropicUpstream, startAnthropicUpstream } from '../../../test/fakes/anthropic-upstream.ts';
import { type OpenAiBehaviour, type OpenAiUpstream, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { makeInstance } from '../../../test/support/schemas.ts';
import { openWaysOut } from '../../../test/support/ways-out.ts';
import { createManualClock, type ManualClock, runWithClock } from '../../kernel/clock/clock.ts';
import { type ChatModel, callModel, type ModelCall, ModelCallError, openModel } from './index.ts';

const waysOut = openWaysOut();
let openai: OpenAiUpstream;
let anthropic: AnthropicUpstream;

before(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
});
after(async () => {
  await openai.close();
  await anthropic.close();
});
beforeEach(() => openai.respondWith({ type: 'answer', deltas: ['Hello', ' there', '.'] }));

function open(provider = 'openai-compatible'): Promise<ChatModel> {
  const { url } = provider === 'anthropic' ? anthropic : openai;
  return openModel(
    `${provider}/test-model`,
    { apiKey: 'sk-test-0123456789abcdef', baseUrl: url },
    waysOut,
    makeInstance,
  );
}

async function run(model: ChatModel, call: Partial<ModelCall> = {}) {
  const parts: LanguageModelV4StreamPart[] = [];
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello?' }] }];
  let error: unknown;
  try {
    const asked: ModelCall = { model, options: { prompt }, buffered: true, sleep: async () => {}, ...call };
    await callModel(asked, (batch) => void parts.push(...batch));
  } catch (thrown) {
    error = thrown;
  }
  const deltas = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
  return { parts, deltas, error };
}

/** Stands still until it is moved. */
function makeClock(): ManualClock {
  return createManualClock(new Date(0));
}

function failureOf(error: unknown): [kind: string, attempts: number] {
  assert.ok(error instanceof ModelCallError, String(error));
  return [error.kind, error.attempts];
}

function wasStreamed(upstream: { requests: readonly { body: unknown }[] }, at = -1): boolean {
  return Object(upstream.requests.at(at)?.body).stream === true;
}

describe('an answer that is asked for buffered', () => {
  for (const provider of ['openai', 'openai-compatible', 'anthropic'] as const) {
    test(`of ${provider} comes in one piece, between a start and a finish`, async () => {
      const { parts, deltas, error } = await run(await open(provider));
      assert.equal(error, undefined);
      assert.deepEqual(deltas, ['Hello there.']);
      assert.equal(parts.at(0)?.type, 'stream-start');
      assert.equal(parts.at(-1)?.type, 'finish');
      assert.equal(wasStreamed(provider === 'anthropic' ? anthropic : openai), false);
    });
  }

  test('has the reasoning, the calls, the usage and the end of its stream', async () => {
    openai.respondWith({
      type: 'answer',
      reasoning: ['Let me', ' see.'],
      deltas: ['Call', 'ing.'],
      toolCalls: [{ id: 'call_9', name: 'lookup', arguments: '{"q":"rain"}' }],
      usage: { promptTokens: 20, completionTokens: 7, cachedTokens: 5, reasoningTokens: 3 },
    });
    const said = async (buffered: boolean) => {
      const { parts } = await run(await open(), { buffered });
      const joined = (type: string) => parts.map((part) => (part.type === type ? Object(part).delta : '')).join('');
      const rest = parts.filter(({ type }) => type === 'tool-call' || type === 'finish');
      return [joined('reasoning-delta'), joined('text-delta'), rest];
    };
    assert.deepEqual(await said(true), await said(false));
  });

  test('of anthropic keeps the signature of its thoughts, which the next call needs', async () => {
    anthropic.respondWith({ type: 'answer', thinking: ['Hm', 'm.'], deltas: ['Well.'] });
    const { parts } = await run(await open('anthropic'));
    const end = parts.find((part) => part.type === 'reasoning-end');
    assert.deepEqual(end?.providerMetadata, { anthropic: { signature: 'c2lnbmF0dXJl' } });
  });

  test('is no timeout when it takes longer than a stream may be silent', async () => {
    openai.respondWith({ type: 'answer', deltas: ['Slow', 'ly.'], delayMs: 100 });
    const count = openai.requests.length;
    const clock = makeClock();
    const model = await open();
    const limits = { connectTimeoutMs: 50, idleTimeoutMs: 50 };
    const outcome = runWithClock(clock, () => run(model, { limits }));
    await openai.waitForRequests(count + 1);
    clock.advance(100);
    assert.deepEqual((await outcome).deltas, ['Slowly.']);
  });
});

describe('a buffered answer that fails', () => {
  const half = (type: 'reset' | 'end' | 'error'): OpenAiBehaviour => ({
    type: 'answer',
    fault: { afterChunks: 1, type },
  });
  const cases: [string, OpenAiBehaviour, kind: string, attempts: number][] = [
    ['a refused key', { type: 'status', status: 401 }, 'authentication', 1],
    ['a prompt that is too long', { type: 'context_length_exceeded' }, 'context_length', 1],
    ['an error of the server', half('error'), 'upstream', 3],
    ['a connection that breaks', half('reset'), 'upstream', 3],
    ['a text that breaks off', half('end'), 'invalid_response', 1],
    ['a web page', { type: 'garbage', contentType: 'text/html', text: '<html>' }, 'invalid_response', 1],
    ['no answer in it', { type: 'garbage', contentType: 'application/json', text: '{}' }, 'invalid_response', 1],
  ];
  for (const provider of ['openai', 'openai-compatible'] as const) {
    for (const [what, behaviour, kind, attempts] of cases) {
      test(`of ${provider}, by ${what}, is ${kind} after ${attempts} attempts`, async () => {
        openai.respondWith(behaviour);
        assert.deepEqual(failureOf((await run(await open(provider))).error), [kind, attempts]);
      });
    }
  }

  test('is a timeout and its socket is closed when it does not come in its time', async () => {
    openai.respondWith({ type: 'hang_before_headers' });
    const count = openai.requests.length;
    const clock = makeClock();
    const model = await open();
    const outcome = runWithClock(clock, () => run(model, { limits: { bufferedTimeoutMs: 200 } }));
    await openai.waitForRequests(count + 1);
    clock.advance(200);
    const { error } = await outcome;
    assert.deepEqual(failureOf(error), ['timeout', 1]);
    assert.match(String(error), /sent nothing for 0\.2 seconds/);
    assert.equal(await openai.requests.at(-1)?.closed, 'client');
  });

  test('ends and its socket is closed when the call is aborted, while no timer fires', async () => {
    openai.respondWith({ type: 'hang_before_headers' });
    const count = openai.requests.length;
    const controller = new AbortController();
    const model = await open();
    const outcome = runWithClock(makeClock(), () => run(model, { signal: controller.signal }));
    await openai.waitForRequests(count + 1);
    controller.abort(new Error('cancelled by the user'));
    assert.match(String((await outcome).error), /cancelled by the user/);
    assert.equal(await openai.requests.at(-1)?.closed, 'client');
  });
});

test('a model that can only stream is asked for a stream, and from then on at once', async () => {
  const message = 'This model only support stream mode, please enable the stream parameter to access the model.';
  const refusal = { error: { message, type: 'invalid_request_error', param: null, code: null } };
  openai.respondWith([
    { type: 'status', status: 400, body: refusal },
    { type: 'answer', deltas: ['Hello', '.'] },
  ]);
  const count = openai.requests.length;
  const model = await open();
  for (const _ of [1, 2]) {
    const { deltas, error } = await run(model);
    assert.equal(error, undefined);
    assert.deepEqual(deltas, ['Hello', '.']);
  }
  const streamed = openai.requests.slice(count).map((_, index) => wasStreamed(openai, count + index));
  assert.deepEqual(streamed, [false, true, true]);
});
