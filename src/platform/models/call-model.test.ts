import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type AnthropicUpstream, startAnthropicUpstream } from '../../../test/fakes/anthropic-upstream.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { makeInstance } from '../../../test/support/schemas.ts';
import { openWaysOut } from '../../../test/support/ways-out.ts';
import { createManualClock, type ManualClock, runWithClock } from '../../kernel/clock/clock.ts';
import { type ChatModel, callModel, type ModelCall, ModelCallError, openModel, type RetryNotice } from './index.ts';
import { adaptSdkModel } from './sdk-model.ts';

const KEY = 'sk-test-0123456789abcdef';
/** A pause whose end no test waits for. */
const AGES_MS = 3_600_000;
/** One spoken to by its package, one by the client of this server. */
const BOTH = ['openai', 'openai-compatible'] as const;

const OPTIONS: LanguageModelV4CallOptions = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }],
};

const plainWaysOut = openWaysOut();
/** Called when the headers of an answer have come that a package asked for: it may wait for more before it gives anything to read. */
let onHeaders: () => void = () => {};
const waysOut: typeof plainWaysOut = {
  ...plainWaysOut,
  async fetch(...asked) {
    const response = await plainWaysOut.fetch(...asked);
    onHeaders();
    return response;
  },
};
let openai: OpenAiUpstream;
let anthropic: AnthropicUpstream;
const upstreams = { openai: () => openai.url, anthropic: () => anthropic.url, 'openai-compatible': () => openai.url };

before(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
});
after(async () => {
  await openai.close();
  await anthropic.close();
});
beforeEach(() => {
  onHeaders = () => {};
  openai.respondWith({ type: 'answer', deltas: ['Hello', ' there', '.'] });
  anthropic.respondWith({ type: 'answer', deltas: ['Hello', ' there', '.'] });
});

function open(provider: keyof typeof upstreams): Promise<ChatModel> {
  return openModel(`${provider}/test-model`, { apiKey: KEY, baseUrl: upstreams[provider]() }, waysOut, makeInstance);
}

interface Outcome {
  readonly parts: readonly LanguageModelV4StreamPart[];
  readonly text: string;
  readonly error: unknown;
  readonly retries: readonly RetryNotice[];
  readonly slept: readonly number[];
}

/** Runs a call to its end; pauses between attempts are noted and not waited for. */
async function run(model: ChatModel, call: Partial<ModelCall> = {}): Promise<Outcome> {
  const parts: LanguageModelV4StreamPart[] = [];
  const retries: RetryNotice[] = [];
  const slept: number[] = [];
  const sleep = async (ms: number) => {
    slept.push(ms);
  };
  let error: unknown;
  try {
    const asked = {
      model,
      options: OPTIONS,
      onRetry: (notice: RetryNotice) => void retries.push(notice),
      sleep,
      ...call,
    };
    await callModel(asked, (batch) => void parts.push(...batch));
  } catch (thrown) {
    error = thrown;
  }
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  return { parts, text, error, retries, slept };
}

/** Stands still until it is moved. */
function makeClock(): ManualClock {
  return createManualClock(new Date(0));
}

/** The model, each part of its answer read by itself; `happen` is called whenever a part is waited for, with the text before it. */
function whenReading(model: ChatModel, happen: (text: string) => void): ChatModel {
  return {
    provider: model.provider,
    modelId: model.modelId,
    async ask(options, buffered) {
      const source = await model.ask(options, buffered);
      const came: LanguageModelV4StreamPart[] = [];
      let text = '';
      return {
        async read() {
          const next = came.length > 0 ? undefined : source.read();
          happen(text);
          came.push(...((await next) ?? []));
          const part = came.shift();
          if (part?.type === 'text-delta') text += part.delta;
          return part === undefined ? undefined : [part];
        },
        drain: () => source.drain(),
        cancel: () => source.cancel(),
      };
    },
  };
}

function assertFailure(error: unknown, kind: ModelCallError['kind']): ModelCallError {
  assert.ok(error instanceof ModelCallError, `expected a ModelCallError, got ${String(error)}`);
  assert.equal(error.kind, kind, error.message);
  assert.doesNotMatch(JSON.stringify([error.message, error.cause]), new RegExp(KEY));
  assert.match(error.message, /test-model/);
  return error;
}

describe('an answer', () => {
  for (const provider of ['openai', 'anthropic', 'openai-compatible'] as const) {
    test(`of ${provider} streams its text, ends with finish, and carries the key`, async () => {
      const { text, parts, error } = await run(await open(provider));
      assert.equal(error, undefined);
      assert.equal(text, 'Hello there.');
      assert.equal(parts.at(0)?.type, 'stream-start');
      assert.equal(parts.at(-1)?.type, 'finish');
      const request = (provider === 'anthropic' ? anthropic : openai).requests.at(-1);
      const header = provider === 'anthropic' ? 'x-api-key' : 'authorization';
      assert.equal(request?.headers[header], provider === 'anthropic' ? KEY : `Bearer ${KEY}`);
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} leaves its connection to the next call`, async () => {
      const model = await open(provider);
      await run(model);
      await openai.requests.at(-1)?.closed;
      const connections = openai.openConnections();
      await run(model);
      assert.equal(openai.openConnections(), connections);
    });
  }

  test('with reasoning, tool calls and usage arrives whole', async () => {
    openai.respondWith({
      type: 'answer',
      reasoning: ['Let me', ' see.'],
      deltas: ['Calling.'],
      toolCalls: [{ id: 'call_9', name: 'lookup', arguments: '{"q":"rain"}' }],
      usage: { promptTokens: 20, completionTokens: 7, cachedTokens: 5, reasoningTokens: 3 },
    });
    const { parts, error } = await run(await open('openai-compatible'));
    assert.equal(error, undefined);
    const reasoning = parts.map((part) => (part.type === 'reasoning-delta' ? part.delta : '')).join('');
    assert.equal(reasoning, 'Let me see.');
    const call = parts.find((part) => part.type === 'tool-call');
    assert.deepEqual([call?.toolCallId, call?.toolName, call?.input], ['call_9', 'lookup', '{"q":"rain"}']);
    const finish = parts.find((part) => part.type === 'finish');
    assert.equal(finish?.finishReason.unified, 'tool-calls');
    assert.equal(finish?.usage.inputTokens.total, 20);
    assert.equal(finish?.usage.inputTokens.cacheRead, 5);
    assert.equal(finish?.usage.outputTokens.total, 7);
  });

  test('of anthropic with thinking and a tool arrives whole', async () => {
    anthropic.respondWith({
      type: 'answer',
      thinking: ['Hm', 'm.'],
      deltas: ['Looking.'],
      toolUses: [{ id: 'toolu_7', name: 'lookup', input: { q: 'rain' } }],
      inputTokens: 12,
      outputTokens: 9,
    });
    const { parts, error, text } = await run(await open('anthropic'));
    assert.equal(error, undefined);
    assert.equal(text, 'Looking.');
    assert.equal(parts.map((part) => (part.type === 'reasoning-delta' ? part.delta : '')).join(''), 'Hmm.');
    const call = parts.find((part) => part.type === 'tool-call');
    assert.deepEqual([call?.toolCallId, call?.input], ['toolu_7', '{"q":"rain"}']);
    assert.equal(parts.find((part) => part.type === 'finish')?.usage.outputTokens.total, 9);
  });
});

describe('a transient failure before any content', () => {
  for (const provider of BOTH) {
    test(`of ${provider} is tried again after the seconds that Retry-After names`, async () => {
      openai.respondWith([
        { type: 'status', status: 429, headers: { 'retry-after': '7' } },
        { type: 'answer', deltas: ['Fine.'] },
      ]);
      const { text, error, slept, retries, parts } = await run(await open(provider));
      assert.equal(error, undefined);
      assert.equal(text, 'Fine.');
      assert.deepEqual(slept, [7000]);
      assert.deepEqual(retries, [{ attempt: 1, delayMs: 7000, kind: 'rate_limited', status: 429 }]);
      assert.equal(parts.filter((part) => part.type === 'stream-start').length, 1);
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is tried again at the HTTP date that Retry-After names`, async () => {
      const now = Date.UTC(2026, 4, 1, 12, 0, 0);
      const date = new Date(now + 12_000).toUTCString();
      openai.respondWith([{ type: 'status', status: 503, headers: { 'retry-after': date } }, { type: 'answer' }]);
      const { error, slept } = await run(await open(provider), { now: () => now });
      assert.equal(error, undefined);
      assert.deepEqual(slept, [12_000]);
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} fails at once, saying when to retry, where Retry-After is longer than the cap`, async () => {
      const count = openai.requests.length;
      openai.respondWith({ type: 'status', status: 429, headers: { 'retry-after': '31' } });
      const { error, slept } = await run(await open(provider));
      const failure = assertFailure(error, 'rate_limited');
      assert.equal(failure.retryAfterSeconds, 31);
      assert.match(failure.message, /Retry in 31 seconds/);
      assert.equal(failure.attempts, 1);
      assert.deepEqual(slept, []);
      assert.equal(openai.requests.length, count + 1);
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is tried three times, with growing pauses, and no more`, async () => {
      const count = openai.requests.length;
      openai.respondWith({ type: 'status', status: 500 });
      const { error, slept } = await run(await open(provider), { random: () => 1 });
      const failure = assertFailure(error, 'upstream');
      assert.equal(failure.status, 500);
      assert.equal(failure.attempts, 3);
      assert.deepEqual(slept, [500, 1000]);
      assert.equal(openai.requests.length, count + 3);
    });
  }

  test('of the network is tried again', async () => {
    const gone = await startOpenAiUpstream();
    const model = await openModel('vllm/test-model', { apiKey: '', baseUrl: gone.url }, waysOut, makeInstance);
    await gone.close();
    const { error, slept } = await run(model);
    assert.equal(assertFailure(error, 'upstream').attempts, 3);
    assert.equal(slept.length, 2);
  });

  test('of anthropic, overloaded inside the stream, is tried again', async () => {
    anthropic.respondWith([
      { type: 'answer', fault: { afterEvents: 0, type: 'overloaded' } },
      { type: 'answer', deltas: ['Fine.'] },
    ]);
    const { text, error, slept } = await run(await open('anthropic'));
    assert.equal(error, undefined);
    assert.equal(text, 'Fine.');
    assert.equal(slept.length, 1);
  });

  for (const provider of BOTH) {
    test(`of ${provider} ends the call without the rest of the pause when it is aborted during it`, async () => {
      openai.respondWith({ type: 'status', status: 500 });
      const controller = new AbortController();
      const { error } = await run(await open(provider), {
        signal: controller.signal,
        sleep: undefined,
        limits: { backoffBaseMs: AGES_MS, backoffMaxMs: AGES_MS },
        onRetry: () => controller.abort(new Error('enough')),
      });
      assert.equal(error instanceof Error && error.message, 'enough');
    });
  }
});

describe('a lasting failure', () => {
  const cases = [
    { name: 'a refused key', behaviour: { type: 'status', status: 401 }, kind: 'authentication' },
    { name: 'a forbidden model', behaviour: { type: 'status', status: 403 }, kind: 'authentication' },
    { name: 'an unknown model', behaviour: { type: 'status', status: 404 }, kind: 'upstream' },
    { name: 'a prompt that is too long', behaviour: { type: 'context_length_exceeded' }, kind: 'context_length' },
    { name: 'an event that is no JSON', behaviour: { type: 'garbage' }, kind: 'invalid_response' },
    {
      name: 'a web page',
      behaviour: { type: 'garbage', contentType: 'text/html', text: '<html>Welcome</html>' },
      kind: 'invalid_response',
    },
    {
      name: 'a used-up quota',
      behaviour: {
        type: 'status',
        status: 429,
        body: { error: { message: 'No credit.', code: 'insufficient_quota' } },
      },
      kind: 'rate_limited',
    },
  ] as const;
  for (const provider of BOTH) {
    for (const { name, behaviour, kind } of cases) {
      test(`of ${provider}, ${name}, is ${kind} and is not tried again`, async () => {
        const count = openai.requests.length;
        openai.respondWith(behaviour);
        const { error } = await run(await open(provider));
        assert.equal(assertFailure(error, kind).attempts, 1);
        assert.equal(openai.requests.length, count + 1);
      });
    }
  }

  test('of anthropic, a prompt that is too long, is context_length', async () => {
    anthropic.respondWith({ type: 'prompt_too_long' });
    const { error } = await run(await open('anthropic'));
    assertFailure(error, 'context_length');
  });

  for (const provider of BOTH) {
    test(`of ${provider} shows neither the key nor a part of it, even where the upstream repeats it`, async () => {
      const message = `Model gone. You sent Bearer ${KEY} that is ${KEY}, also known as sk-te**********cdef.`;
      openai.respondWith({
        type: 'status',
        status: 404,
        body: { error: { message, type: 'x', param: null, code: null } },
      });
      const { error } = await run(await open(provider));
      const failure = assertFailure(error, 'upstream');
      assert.match(failure.message, /Model gone/);
      assert.doesNotMatch(failure.message, /sk-te|cdef/);
    });
  }
});

describe('an answer that breaks off', () => {
  const cases = [
    { fault: 'reset', kind: 'truncated' },
    { fault: 'end', kind: 'truncated' },
    { fault: 'garbage', kind: 'invalid_response' },
    { fault: 'error', kind: 'upstream' },
  ] as const;
  for (const provider of BOTH) {
    for (const { fault, kind } of cases) {
      test(`of ${provider} by ${fault} is ${kind}, after its text and without another attempt`, async () => {
        const count = openai.requests.length;
        openai.respondWith({ type: 'answer', deltas: ['One', ' two'], fault: { afterChunks: 2, type: fault } });
        const { error, text } = await run(await open(provider));
        assertFailure(error, kind);
        assert.equal(text, 'One two');
        assert.equal(openai.requests.length, count + 1);
      });
    }
  }

  for (const type of ['reset', 'end'] as const) {
    test(`of anthropic by ${type} is truncated`, async () => {
      anthropic.respondWith({ type: 'answer', deltas: ['One', ' two'], fault: { afterEvents: 4, type } });
      const { error, text } = await run(await open('anthropic'));
      assertFailure(error, 'truncated');
      assert.equal(text, 'One two');
    });
  }
});

describe('a silent upstream', () => {
  for (const provider of BOTH) {
    test(`of ${provider} is a timeout when it never answers, and its socket is closed`, async () => {
      const count = openai.requests.length;
      openai.respondWith({ type: 'hang_before_headers' });
      const clock = makeClock();
      const model = await open(provider);
      const outcome = runWithClock(clock, () => run(model, { limits: { connectTimeoutMs: 600 } }));
      await openai.waitForRequests(count + 1);
      clock.advance(600);
      const { error } = await outcome;
      assert.match(assertFailure(error, 'timeout').message, /sent nothing for 0\.6 seconds/);
      assert.equal(openai.requests.length, count + 1);
      assert.equal(await openai.requests.at(-1)?.closed, 'client');
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is a timeout when headers came and nothing after`, async () => {
      openai.respondWith({ type: 'answer', fault: { afterChunks: 0, type: 'hang' } });
      const clock = makeClock();
      const fallSilent = () => setImmediate(() => clock.advance(600));
      onHeaders = fallSilent;
      const model = whenReading(await open(provider), fallSilent);
      const { error } = await runWithClock(clock, () => run(model, { limits: { connectTimeoutMs: 600 } }));
      assertFailure(error, 'timeout');
      assert.equal(await openai.requests.at(-1)?.closed, 'client');
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is a timeout in the middle of the answer`, async () => {
      openai.respondWith({ type: 'answer', deltas: ['One'], fault: { afterChunks: 1, type: 'hang' } });
      const clock = makeClock();
      const model = whenReading(await open(provider), (text) => {
        if (text === 'One') setImmediate(() => clock.advance(600));
      });
      const { error, text } = await runWithClock(clock, () => run(model, { limits: { idleTimeoutMs: 600 } }));
      assert.match(assertFailure(error, 'timeout').message, /fell silent/);
      assert.equal(text, 'One');
      assert.equal(await openai.requests.at(-1)?.closed, 'client');
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is no timeout while parts keep coming, when the whole takes longer than the limit`, async () => {
      openai.respondWith({ type: 'answer', deltas: ['a', 'b', 'c', 'd', 'e', 'f'] });
      const clock = makeClock();
      const model = whenReading(await open(provider), () => clock.advance(900));
      const { error, text } = await runWithClock(clock, () => run(model, { limits: { idleTimeoutMs: 1_000 } }));
      assert.equal(error, undefined);
      assert.equal(text, 'abcdef');
      assert.ok(clock.elapsedMs() >= 6 * 900);
    });
  }

  for (const provider of BOTH) {
    test(`of ${provider} is not blamed when the reader is slow`, async () => {
      openai.respondWith({ type: 'answer', deltas: ['a', 'b'] });
      let text = '';
      const clock = makeClock();
      const model = whenReading(await open(provider), () => {});
      const call = { model, options: OPTIONS, limits: { idleTimeoutMs: 1_000 } };
      const take = async (parts: readonly LanguageModelV4StreamPart[]) => {
        for (const part of parts) if (part.type === 'text-delta') text += part.delta;
        clock.advance(1_200);
      };
      await runWithClock(clock, () => callModel(call, take));
      assert.equal(text, 'ab');
    });
  }
});

describe('an abort', () => {
  const silences = {
    'before headers': { type: 'hang_before_headers' },
    'before content': { type: 'answer', fault: { afterChunks: 0, type: 'hang' } },
    'in the middle of the answer': { type: 'answer', deltas: ['One'], fault: { afterChunks: 1, type: 'hang' } },
  } as const;
  for (const provider of BOTH) {
    for (const [when, behaviour] of Object.entries(silences)) {
      test(`of ${provider} ${when} ends the call and closes the upstream's socket while no timer fires`, async () => {
        openai.respondWith(behaviour);
        const count = openai.requests.length;
        const controller = new AbortController();
        const abort = () => controller.abort(new Error('cancelled by the user'));
        if (when === 'before content') onHeaders = () => setImmediate(abort);
        const model = whenReading(await open(provider), (text) => {
          if (when === 'before content' || text === 'One') setImmediate(abort);
        });
        const outcome = runWithClock(makeClock(), () => run(model, { signal: controller.signal }));
        await openai.waitForRequests(count + 1);
        if (when === 'before headers') abort();
        const { error } = await outcome;
        assert.equal(error instanceof Error && error.message, 'cancelled by the user');
        assert.equal(await openai.requests.at(-1)?.closed, 'client');
      });
    }
  }

  test('of anthropic in the middle of the answer closes the socket', async () => {
    anthropic.respondWith({ type: 'answer', deltas: ['One'], fault: { afterEvents: 3, type: 'hang' } });
    const controller = new AbortController();
    const model = await open('anthropic');
    await assert.rejects(async () => {
      await callModel({ model, options: OPTIONS, signal: controller.signal }, (parts) => {
        if (parts.some((part) => part.type === 'text-delta')) controller.abort();
      });
    }, /abort/i);
    assert.equal(await anthropic.requests.at(-1)?.closed, 'client');
  });

  test('stops a model that does not heed its signal', async () => {
    const deaf: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'deaf',
      modelId: 'test-model',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('unused')),
      doStream: async () => ({ stream: new ReadableStream<LanguageModelV4StreamPart>({}) }),
    };
    const controller = new AbortController();
    const outcome = run(adaptSdkModel(deaf), { signal: controller.signal });
    setImmediate(() => controller.abort(new Error('enough')));
    const { error } = await outcome;
    assert.equal(error instanceof Error && error.message, 'enough');
  });

  for (const provider of BOTH) {
    test(`of ${provider} before the call sends nothing`, async () => {
      const count = openai.requests.length;
      const { error } = await run(await open(provider), { signal: AbortSignal.abort(new Error('too late')) });
      assert.equal(error instanceof Error && error.message, 'too late');
      assert.equal(openai.requests.length, count);
    });
  }

  for (const provider of BOTH) {
    for (const when of ['at once', 'later']) {
      test(`of ${provider} by who takes the parts, ${when}, closes the socket, and is not tried again`, async () => {
        openai.respondWith({ type: 'answer', deltas: ['One'], fault: { afterChunks: 1, type: 'hang' } });
        const count = openai.requests.length;
        const enough = new Error('enough');
        const refuse = when === 'at once' ? throwIt : async () => throwIt();
        const call = callModel({ model: await open(provider), options: OPTIONS }, (parts) =>
          parts.some((part) => part.type === 'text-delta') ? refuse() : undefined,
        );
        await assert.rejects(call, enough);
        assert.equal(await openai.requests.at(-1)?.closed, 'client');
        assert.equal(openai.requests.length, count + 1);
        function throwIt(): never {
          throw enough;
        }
      });
    }
  }
});
