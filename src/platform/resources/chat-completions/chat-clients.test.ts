/** The clients that people use, against the real server. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { startPlatform } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

const TWO_CALLS = 'Call the tool weather with {"city":"Oslo"}. Call the tool clock with {"zone":"CET"}.';
const BOTH_RESULTS = /grey in Oslo[\s\S]*noon in CET/;

async function makeClient() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write']);
  const baseURL = `${platform.url}/v1`;
  return { project, smithId, token, baseURL, openai: new OpenAI({ apiKey: token, baseURL, maxRetries: 0 }) };
}

async function countRuns({ project, smithId }: Awaited<ReturnType<typeof makeClient>>): Promise<number> {
  return (await project.get(`/v1/smiths/${smithId}/runs`)).body.data.length;
}

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

describe('openai', () => {
  test('creates a completion and streams one', async () => {
    const { openai } = await makeClient();
    const whole = await openai.chat.completions.create({
      model: 'ironcraft',
      messages: [{ role: 'user', content: 'Write 4 words' }],
    });
    assert.equal(whole.choices[0]?.message.content?.split(' ').length, 4);
    const stream = openai.chat.completions.stream({
      model: 'ironcraft',
      messages: [{ role: 'user', content: 'Write 4 words' }],
      stream_options: { include_usage: true },
    });
    let seen = '';
    stream.on('content', (delta) => {
      seen += delta;
    });
    const final = await stream.finalChatCompletion();
    assert.equal(final.choices[0]?.message.content, whole.choices[0]?.message.content);
    assert.equal(seen, final.choices[0]?.message.content);
    assert.equal(final.choices[0]?.finish_reason, 'stop');
    assert.equal((await stream.totalUsage()).total_tokens, whole.usage?.total_tokens);
  });

  for (const stream of [false, true]) {
    test(`runs two tools at once within one run, ${stream ? 'streamed' : 'whole'}`, async () => {
      const chat = await makeClient();
      const called: unknown[] = [];
      const tools = [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            description: 'The weather',
            parameters: city,
            parse: JSON.parse,
            function: (args: { city: string }) => {
              called.push(args);
              return `grey in ${args.city}`;
            },
          },
        },
        {
          type: 'function' as const,
          function: {
            name: 'clock',
            description: 'The time',
            parameters: { type: 'object', properties: { zone: { type: 'string' } } },
            parse: JSON.parse,
            function: (args: { zone: string }) => {
              called.push(args);
              return `noon in ${args.zone}`;
            },
          },
        },
      ];
      const messages = [{ role: 'user' as const, content: TWO_CALLS }];
      const runner = stream
        ? chat.openai.chat.completions.runTools({ model: 'ironcraft', messages, tools, stream: true })
        : chat.openai.chat.completions.runTools({ model: 'ironcraft', messages, tools });
      assert.match((await runner.finalContent()) ?? '', BOTH_RESULTS);
      assert.deepEqual(called, [{ city: 'Oslo' }, { zone: 'CET' }]);
      assert.equal(await countRuns(chat), 1);
    });
  }

  test('parses what a schema asks for, whole and streamed', async () => {
    const { openai } = await makeClient();
    const request = {
      model: 'ironcraft',
      messages: [{ role: 'user' as const, content: 'Where?' }],
      response_format: {
        type: 'json_schema' as const,
        json_schema: { name: 'place', strict: true, schema: { ...city, additionalProperties: false } },
      },
    };
    const parsed = await openai.chat.completions.parse(request);
    const content = JSON.parse(parsed.choices[0]?.message.content ?? '');
    assert.equal(typeof content.city, 'string');
    const final = await openai.chat.completions.stream(request).finalChatCompletion();
    assert.deepEqual(JSON.parse(final.choices[0]?.message.content ?? ''), content);
  });

  test('throws refusals and failures with their code', async () => {
    const { openai } = await makeClient();
    const ask = (content: string, more: object = {}) =>
      openai.chat.completions.create({ model: 'ironcraft', messages: [{ role: 'user', content }], ...more });
    const hasCode = (code: string, status: number | undefined) => (error: unknown) => {
      assert.ok(error instanceof OpenAI.APIError, String(error));
      assert.deepEqual([error.code, error.status], [code, status]);
      return true;
    };
    await assert.rejects(ask('Fail with 500'), hasCode('model_request_failed', 502));
    await assert.rejects(ask('Hi', { model: 'nobody/gpt' }), hasCode('unknown_provider', 404));
    await assert.rejects(ask('Hi', { conversation: 'cnv_x' }), hasCode('conversation_not_found', 404));
    const failing = openai.chat.completions.stream({
      model: 'ironcraft',
      messages: [{ role: 'user', content: 'Fail with 400' }],
    });
    await assert.rejects(failing.finalContent(), hasCode('model_request_failed', undefined));
  });
});

describe('ai', () => {
  const weather = tool({
    description: 'The weather',
    inputSchema: jsonSchema<{ city: string }>(city as never),
    execute: async (input: { city: string }) => `grey in ${input.city}`,
  });
  const clock = tool({
    description: 'The time',
    inputSchema: jsonSchema<{ zone: string }>({ type: 'object', properties: { zone: { type: 'string' } } }),
    execute: async (input: { zone: string }) => `noon in ${input.zone}`,
  });

  test('streams a loop of tools within one run', async () => {
    const chat = await makeClient();
    const provider = createOpenAI({ apiKey: chat.token, baseURL: chat.baseURL });
    const result = streamText({
      model: provider.chat('ironcraft'),
      prompt: TWO_CALLS,
      tools: { weather, clock },
      stopWhen: isStepCount(4),
      maxRetries: 0,
    });
    let text = '';
    for await (const piece of result.textStream) text += piece;
    assert.match(text, BOTH_RESULTS);
    assert.equal(await result.finishReason, 'stop');
    assert.ok(((await result.totalUsage).totalTokens ?? 0) > 0);
    assert.equal((await result.steps).length, 2);
    assert.equal(await countRuns(chat), 1);
  });

  test('generates text, and reads a cut-off answer as such', async () => {
    const chat = await makeClient();
    const provider = createOpenAI({ apiKey: chat.token, baseURL: chat.baseURL });
    const result = await generateText({
      model: provider.chat('ironcraft'),
      prompt: 'Write 50 words',
      maxOutputTokens: 5,
      maxRetries: 0,
    });
    assert.equal(result.finishReason, 'length');
    assert.notEqual(result.text, '');
  });
});

describe('langchain', () => {
  test('streams a loop of tools within one run', async () => {
    const chat = await makeClient();
    const model = new ChatOpenAI({
      model: 'ironcraft',
      apiKey: chat.token,
      configuration: { baseURL: chat.baseURL },
      maxRetries: 0,
      useResponsesApi: false,
    }).bindTools([
      { type: 'function', function: { name: 'weather', parameters: city } },
      { type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } },
    ]);
    const question = new HumanMessage(TWO_CALLS);
    const asked = await gather(model.stream([question]));
    assert.deepEqual(
      asked.tool_calls?.map(({ name, args }) => [name, args]),
      [
        ['weather', { city: 'Oslo' }],
        ['clock', { zone: 'CET' }],
      ],
    );
    const results = (asked.tool_calls ?? []).map(
      ({ id = '', name }) =>
        new ToolMessage({ tool_call_id: id, content: name === 'weather' ? 'grey in Oslo' : 'noon in CET' }),
    );
    const answered = await gather(model.stream([question, asked, ...results]));
    assert.match(String(answered.content), BOTH_RESULTS);
    assert.equal(await countRuns(chat), 1);
  });
});

async function gather<Chunk extends { concat(other: never): unknown }>(
  streaming: Promise<AsyncIterable<Chunk>>,
): Promise<Chunk> {
  let whole: Chunk | undefined;
  for await (const chunk of await streaming) {
    whole = whole === undefined ? chunk : (whole.concat(chunk as never) as Chunk);
  }
  assert.ok(whole);
  return whole;
}
