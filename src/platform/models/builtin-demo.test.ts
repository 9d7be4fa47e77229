import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { makeInstance } from '../../../test/support/schemas.ts';
import { createDemoModel } from './builtin-demo.ts';
import type { PartSource } from './chat-model.ts';
import { WORDS } from './demo/word-list.ts';
import { callModel, estimateTokens, MEMORY_TAG, ModelCallError, SEARCH_RESULTS_TAG, wrapSection } from './index.ts';

const model = createDemoModel(makeInstance);
const WEATHER: LanguageModelV4FunctionTool = {
  type: 'function',
  name: 'get_weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const CLOCK: LanguageModelV4FunctionTool = { type: 'function', name: 'clock.now', inputSchema: { type: 'object' } };

function user(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function result(toolName: string, output: LanguageModelV4ToolResultOutput): LanguageModelV4Message {
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'call_1', toolName, output }] };
}

async function* readParts(source: PartSource) {
  for (let parts = await source.read(); parts !== undefined; parts = await source.read()) yield* parts;
}

type Prompt = string | LanguageModelV4Message[];

async function ask(prompt: Prompt, options: Partial<LanguageModelV4CallOptions> = {}, isBuffered = false) {
  const messages = typeof prompt === 'string' ? [user(prompt)] : prompt;
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of readParts(await model.ask({ ...options, prompt: messages }, isBuffered))) parts.push(part);
  const deltas = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
  const finish = parts.find((part) => part.type === 'finish');
  assert.ok(finish !== undefined);
  return {
    parts,
    deltas,
    text: deltas.join(''),
    reasoning: parts.map((part) => (part.type === 'reasoning-delta' ? part.delta : '')).join(''),
    calls: parts.flatMap((part) => (part.type === 'tool-call' ? [part] : [])),
    finish: finish.finishReason.unified,
    usage: finish.usage,
  };
}

describe('an ordinary message', () => {
  test('gets a reply that quotes it and says what answers', async () => {
    const { text, finish, deltas } = await ask('Good morning!');
    assert.match(text, /"Good morning!"/);
    assert.match(text, /built-in demo model/);
    assert.match(text, /need no key/);
    assert.equal(finish, 'stop');
    assert.ok(deltas.length > 10, 'streamed by words');
  });

  test('gets the first line of the instructions at the end, and no more of them', async () => {
    const { text } = await ask([
      { role: 'system', content: 'You serve Ada in Berlin.\nSecret second line.' },
      user('Hi'),
    ]);
    assert.ok(text.endsWith('Instructions: "You serve Ada in Berlin.".'), text);
    assert.doesNotMatch(text, /Secret/);
    const long = await ask([{ role: 'system', content: 'x'.repeat(500) }, user('Hi')]);
    assert.ok(long.text.endsWith(`Instructions: "${'x'.repeat(200)}".`));
  });

  test('gets the same reply every time', async () => {
    assert.deepEqual((await ask('Again')).parts, (await ask('Again')).parts);
  });

  test('with files gets their media types and sizes', async () => {
    const { text } = await ask([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array(1234) } },
          { type: 'file', mediaType: 'text/plain', filename: 'a.txt', data: { type: 'data', data: 'aGVsbG8=' } },
          { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL('https://example.com/cat.jpg') } },
        ],
      },
    ]);
    assert.match(text, /3 files/);
    assert.match(text, /image\/png, 1234 bytes/);
    assert.match(text, /text\/plain "a\.txt", 5 bytes/);
    assert.match(text, /image\/\* at https:\/\/example\.com\/cat\.jpg/);
    assert.match(text, /"What is this\?"/);
  });

  test('asked for in one piece is what the stream says', async () => {
    const streamed = await ask('Think about rivers');
    const buffered = await ask('Think about rivers', {}, true);
    assert.deepEqual(buffered.deltas, [streamed.text]);
    assert.equal(buffered.reasoning, streamed.reasoning);
    assert.deepEqual(buffered.usage, streamed.usage);
  });
});

describe('Call the tool', () => {
  test('calls it with the arguments given, nested ones too', async () => {
    const json = '{"city":"Po}rt \\"X\\"","deep":{"list":[{"a":1},2],"s":"{"}}';
    const { calls, finish, text } = await ask(`Please call the tool get_weather with ${json}. Thanks.`, {
      tools: [WEATHER],
    });
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.toolName, 'get_weather');
    assert.deepEqual(JSON.parse(calls[0]?.input ?? ''), JSON.parse(json));
    assert.equal(finish, 'tool-calls');
    assert.equal(text, '');
  });

  test('several times makes several calls of one step, each with an id of its own', async () => {
    const message =
      'Call the tool get_weather with {"city":"A"}. Call the tool `clock.now` with {}. Call the tool get_weather with {"city":"A"}';
    const { calls } = await ask(message, { tools: [WEATHER, CLOCK] });
    assert.deepEqual(
      calls.map((call) => call.toolName),
      ['get_weather', 'clock.now', 'get_weather'],
    );
    assert.equal(new Set(calls.map((call) => call.toolCallId)).size, 3);
    const again = await ask(message, { tools: [WEATHER, CLOCK] });
    assert.deepEqual(again.calls, calls);
    const seeded = await ask(message, {
      tools: [WEATHER, CLOCK],
      providerOptions: { builtin: { callIdSeed: 'run_2' } },
    });
    assert.equal(
      seeded.calls.some((call) => calls.some((other) => other.toolCallId === call.toolCallId)),
      false,
    );
  });

  test('takes a sentence inside the arguments as data', async () => {
    const { calls } = await ask('Call the tool clock.now with {"note":"Call the tool get_weather with {}"}', {
      tools: [WEATHER, CLOCK],
    });
    assert.deepEqual(
      calls.map((call) => call.toolName),
      ['clock.now'],
    );
  });

  test('calls what comes after `then` a step later', async () => {
    const message =
      'Call the tool get_weather with {"city":"A"} and call the tool clock.now with {}, then call the tool get_weather with {"city":"B"}. Then, call the tool clock.now with {"then":"call the tool x with {}"}';
    const tools = [WEATHER, CLOCK];
    const prompt: LanguageModelV4Message[] = [user(message)];
    const steps: unknown[] = [];
    for (;;) {
      const { calls, text } = await ask(prompt, { tools });
      if (calls.length === 0) {
        assert.equal(text.match(/returned/g)?.length, 4);
        break;
      }
      steps.push(calls.map(({ toolName, input }) => [toolName, input]));
      prompt.push({
        role: 'assistant',
        content: calls.map(({ toolCallId, toolName }) => ({ type: 'tool-call', toolCallId, toolName, input: {} })),
      });
      prompt.push(...calls.map(({ toolName }) => result(toolName, { type: 'text', value: 'done' })));
    }
    assert.deepEqual(steps, [
      [
        ['get_weather', '{"city":"A"}'],
        ['clock.now', '{}'],
      ],
      [['get_weather', '{"city":"B"}']],
      [['clock.now', '{"then":"call the tool x with {}"}']],
    ]);
  });

  test('says a step later that a tool is not offered, and starts over with the next message', async () => {
    const message = 'Then call the tool clock.now with {}, then call the tool teleport with {}.';
    const first = await ask(message, { tools: [CLOCK] });
    assert.deepEqual(
      first.calls.map((call) => call.toolName),
      ['clock.now'],
    );
    const after = [user(message), result('clock.now', { type: 'text', value: 'noon' })];
    const second = await ask(after, { tools: [CLOCK], toolChoice: { type: 'auto' } });
    assert.deepEqual(second.calls, []);
    assert.match(second.text, /"teleport" is not among the tools offered/);
    const again = await ask([...after, user(message)], { tools: [CLOCK] });
    assert.equal(again.calls.length, 1);
  });

  test('repeats the results once they are there', async () => {
    const prompt = [
      user('Call the tool get_weather with {"city":"Oslo"}'),
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'get_weather', input: {} }] },
      result('get_weather', { type: 'json', value: { celsius: -3 } }),
      result('clock.now', { type: 'text', value: 'noon' }),
      result('broken', { type: 'error-text', value: 'no such city' }),
      result('gated', { type: 'execution-denied', reason: 'not today' }),
    ] satisfies LanguageModelV4Message[];
    const { text, calls, finish } = await ask(prompt, { tools: [WEATHER], toolChoice: { type: 'required' } });
    assert.deepEqual(calls, []);
    assert.equal(finish, 'stop');
    assert.match(text, /get_weather returned: \{"celsius":-3\}/);
    assert.match(text, /clock\.now returned: noon/);
    assert.match(text, /broken failed: no such city/);
    assert.match(text, /gated was denied: not today/);
  });

  test('calls again in the next turn, with another id', async () => {
    const first = await ask('Call the tool clock.now with {}', { tools: [CLOCK] });
    const next = [
      user('Call the tool clock.now with {}'),
      result('clock.now', { type: 'text', value: 'noon' }),
      user('Call the tool clock.now with {}'),
    ];
    const second = await ask(next, { tools: [CLOCK] });
    assert.equal(second.calls.length, 1);
    assert.notEqual(second.calls[0]?.toolCallId, first.calls[0]?.toolCallId);
  });

  test('says so when the tool is not offered or the arguments are no JSON', async () => {
    const absent = await ask('Call the tool teleport with {}', { tools: [CLOCK] });
    assert.match(absent.text, /"teleport" is not among the tools offered.*clock\.now/);
    assert.deepEqual(absent.calls, []);
    const broken = await ask('Call the tool clock.now with {oops}', { tools: [CLOCK] });
    assert.match(broken.text, /not a JSON object/);
  });
});

describe('tool_choice', () => {
  test('none never calls', async () => {
    const { calls, text } = await ask('Call the tool clock.now with {}', {
      tools: [CLOCK],
      toolChoice: { type: 'none' },
    });
    assert.deepEqual(calls, []);
    assert.match(text, /tool_choice is none/);
  });

  test('required calls the first tool with valid arguments, unless the message names one', async () => {
    const free = await ask('Is it raining?', { tools: [WEATHER, CLOCK], toolChoice: { type: 'required' } });
    assert.equal(free.calls[0]?.toolName, 'get_weather');
    assert.deepEqual(JSON.parse(free.calls[0]?.input ?? ''), { city: 'Is it raining?' });
    const named = await ask('Call the tool clock.now with {"a":1}', {
      tools: [WEATHER, CLOCK],
      toolChoice: { type: 'required' },
    });
    assert.deepEqual([named.calls[0]?.toolName, named.calls[0]?.input], ['clock.now', '{"a":1}']);
  });

  test('of a tool calls that tool', async () => {
    const toolChoice = { type: 'tool', toolName: 'clock.now' } as const;
    const { calls } = await ask('Hello', { tools: [WEATHER, CLOCK], toolChoice });
    assert.deepEqual(
      calls.map((call) => [call.toolName, call.input]),
      [['clock.now', '{}']],
    );
    const after = await ask([user('Hello'), result('clock.now', { type: 'text', value: 'noon' })], {
      tools: [CLOCK],
      toolChoice,
    });
    assert.deepEqual(after.calls, []);
    assert.match(after.text, /returned: noon/);
  });
});

describe('Write N words', () => {
  for (const count of [1, 2, 41, 1000]) {
    test(`writes exactly ${count} and nothing else, a delta each`, async () => {
      const { text, deltas, usage } = await ask(`Write ${count} words`);
      assert.equal(deltas.length, count);
      assert.deepEqual(
        text.split(' '),
        Array.from({ length: count }, (_, index) => WORDS[index % WORDS.length]),
      );
      assert.equal(usage.outputTokens.total, count);
    });
  }

  test('of 0 writes nothing, and refuses what it cannot do in a sentence', async () => {
    assert.equal((await ask('Write 0 words')).text, '');
    assert.match((await ask('Write 9,000,000 words')).text, /at most 100000 words/);
    assert.match((await ask('Write 5 words at 0 words per second')).text, /more than 0/);
  });

  test('gives every word when it is asked for them at a rate', async () => {
    assert.equal((await ask('Write 60 words at 200 words per second')).deltas.length, 60);
  });

  test('lets other work of the process run between bursts', async () => {
    let turns = 0;
    let done = false;
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await ask('Write 5000 words');
    done = true;
    assert.ok(turns > 20, `the loop came round ${turns} times`);
  });

  test('stops when it is aborted, long before the next word is due', async () => {
    const prompt = [user('Write 100 words at 0.001 words per second')];
    const controller = new AbortController();
    const deltas: string[] = [];
    await assert.rejects(async () => {
      const call = { model, options: { prompt }, signal: controller.signal };
      await callModel(call, (parts) => {
        for (const part of parts) if (part.type === 'text-delta') deltas.push(part.delta);
        if (deltas.length > 0) setImmediate(() => controller.abort(new Error('enough')));
      });
    }, /enough/);
    assert.equal(deltas.length, 1);
  });
});

describe('the output limit', () => {
  test('cuts a text at exactly that many tokens', async () => {
    for (const limit of [1, 2, 7, 25]) {
      for (const message of [
        'Write 50 words',
        'Tell me of antidisestablishmentarianism and {"json": [1, 2, 3]}',
        'Think about everything',
      ]) {
        const { text, reasoning, finish, usage } = await ask(message, { maxOutputTokens: limit });
        assert.equal(finish, 'length', message);
        assert.equal(usage.outputTokens.total, limit);
        assert.equal(estimateTokens(text) + estimateTokens(reasoning), limit);
      }
    }
  });

  test('that the text just meets does not cut it', async () => {
    const { text, finish } = await ask('Write 5 words', { maxOutputTokens: 5 });
    assert.equal(text.split(' ').length, 5);
    assert.equal(finish, 'stop');
  });

  test('too small for a call ends with length and no half call', async () => {
    const { calls, finish } = await ask('Call the tool clock.now with {"a":"long enough to need tokens"}', {
      tools: [CLOCK],
      maxOutputTokens: 2,
    });
    assert.deepEqual(calls, []);
    assert.equal(finish, 'length');
  });
});

describe('stop sequences', () => {
  test('end the text before the first of them, also across words', async () => {
    const all = (await ask('Write 20 words')).text;
    const stop = 'r delta';
    const { text, finish } = await ask('Write 20 words', { stopSequences: ['nowhere', stop, 'ember'] });
    assert.equal(text, all.slice(0, all.indexOf(stop)));
    assert.equal(finish, 'stop');
    assert.equal((await ask('Write 20 words', { stopSequences: ['nowhere'] })).text, all);
    assert.equal((await ask('Write 20 words', { stopSequences: ['amber'] })).text, '');
  });
});

describe('context', () => {
  const memory = wrapSection(MEMORY_TAG, 'Ada likes green tea.\nAda lives in Oslo.\nThe printer is broken.');
  const search = wrapSection(SEARCH_RESULTS_TAG, 'The refund window is 30 days.\nShipping takes two days.');

  test('of memory and search results is answered from, by the lines that match best', async () => {
    const system = { role: 'system', content: `Be kind.\n\n${memory}\n\n${search}` } as const;
    const tea = await ask([system, user('Which tea does Ada like?')]);
    assert.match(tea.text, /> Ada likes green tea\./);
    assert.doesNotMatch(tea.text, /Oslo|printer|refund/);
    assert.ok(tea.text.endsWith('Instructions: "Be kind.".'));
    const refund = await ask([system, user('How long are refunds possible?')]);
    assert.match(refund.text, /> The refund window is 30 days\./);
  });

  test('that holds nothing of the kind is said not to match', async () => {
    const { text } = await ask([{ role: 'system', content: memory }, user('zebra xylophone')]);
    assert.match(text, /Nothing in the search results or the memory.*"zebra xylophone"/);
  });

  test('in the result of a tool that the model was made to call is answered from', async () => {
    const prompt = [user('How long does shipping take?'), result('file_search', { type: 'json', value: search })];
    const { text } = await ask(prompt, { toolChoice: { type: 'required' } });
    assert.match(text, /> Shipping takes two days\./);
    assert.doesNotMatch(text, /refund/);
  });
});

describe('a JSON response format', () => {
  test('with a schema gets an instance, and without one an object that quotes the message', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer', minimum: 3 } },
      required: ['n'],
      additionalProperties: false,
    };
    const typed = await ask('Numbers, please', { responseFormat: { type: 'json', schema: Object(schema) } });
    assert.deepEqual(JSON.parse(typed.text), { n: 3 });
    const free = await ask('Say "x"', { responseFormat: { type: 'json' } });
    assert.equal(JSON.parse(free.text).message, 'Say "x"');
  });

  test('types the message after the tool calls', async () => {
    const schema = Object({ type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] });
    const options = { tools: [CLOCK], responseFormat: { type: 'json', schema } } as const;
    const message = user('Call the tool clock.now with {}');
    assert.equal((await ask([message], { ...options, tools: [CLOCK] })).calls.length, 1);
    const after = await ask([message, result('clock.now', { type: 'text', value: 'noon' })], {
      ...options,
      tools: [CLOCK],
    });
    assert.deepEqual(JSON.parse(after.text), { ok: true });
  });
});

test('Think about gives reasoning before the text, and none where the effort is none', async () => {
  const { parts, reasoning } = await ask('Think about rivers.');
  assert.match(reasoning, /"rivers"/);
  const types = parts.map((part) => part.type);
  assert.ok(types.indexOf('reasoning-end') < types.indexOf('text-start'));
  assert.equal((await ask('Think about rivers.', { reasoning: 'none' })).reasoning, '');
});

test('Refuse to answer ends with content-filter', async () => {
  assert.equal((await ask('Please refuse to answer this.')).finish, 'content-filter');
});

test('Fail with a status fails as a provider would', async () => {
  const attempts: number[] = [];
  const onRetry = ({ attempt }: { attempt: number }) => attempts.push(attempt);
  const call = { model: model, sleep: async () => {}, onRetry };
  const drain = async (text: string) => {
    await callModel({ ...call, options: { prompt: [user(text)] } }, (parts) =>
      assert.ok(parts.every((part) => part.type !== 'finish')),
    );
  };
  await assert.rejects(
    drain('Fail with 500'),
    (error) => error instanceof ModelCallError && error.kind === 'upstream' && error.status === 500,
  );
  assert.deepEqual(attempts, [1, 2]);
  await assert.rejects(
    drain('Fail with 401'),
    (error) => error instanceof ModelCallError && error.kind === 'authentication',
  );
  await assert.rejects(
    drain('Fail with 429'),
    (error) => error instanceof ModelCallError && error.kind === 'rate_limited',
  );
});

test('A prompt beyond the window is refused as context_length', async () => {
  const drain = async () => {
    const options = { prompt: [user('word '.repeat(9000))] };
    await callModel({ model, options }, () => {});
  };
  await assert.rejects(drain, (error) => error instanceof ModelCallError && error.kind === 'context_length');
});
