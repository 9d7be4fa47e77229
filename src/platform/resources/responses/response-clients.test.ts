/** The clients that people use, against the real server. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { startPlatform } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

const TWO_CALLS = 'Call the tool weather with {"city":"Oslo"}. Call the tool clock with {"zone":"CET"}.';
const BOTH_RESULTS = /grey in Oslo[\s\S]*noon in CET/;
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const zone = { type: 'object', properties: { zone: { type: 'string' } } };

async function makeSmith() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write']);
  const countRuns = async () => (await project.get(`/v1/smiths/${smithId}/runs`)).body.data.length;
  return { token, baseURL: `${platform.url}/v1`, countRuns };
}

describe('openai', () => {
  test('accumulates a stream into the response that is retrieved', async () => {
    const { token, baseURL } = await makeSmith();
    const openai = new OpenAI({ apiKey: token, baseURL, maxRetries: 0 });
    const stream = openai.responses.stream({ model: 'ironcraft', input: 'Think about rivers' });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    assert.equal(final.output_text, text);
    const { output } = await openai.responses.retrieve(final.id);
    assert.deepEqual(
      final.output.map(({ id, type }) => [id, type]),
      output.map(({ id, type }) => [id, type]),
    );
  });

  test('resumes a background stream behind the events that it has seen', async () => {
    const { token, baseURL } = await makeSmith();
    const openai = new OpenAI({ apiKey: token, baseURL, maxRetries: 0 });
    const input = 'Write 40 words at 80 words per second';
    let [id, text, last] = ['', '', 0];
    for await (const event of await openai.responses.create({
      model: 'ironcraft',
      input,
      background: true,
      stream: true,
    })) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') text += event.delta;
      last = event.sequence_number;
      if (last === 12) break;
    }
    for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: last })) {
      assert.equal(event.sequence_number, ++last);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    assert.equal(text, (await openai.responses.retrieve(id)).output_text);
    const helper = openai.responses.stream({ response_id: id, starting_after: 12 });
    assert.equal((await helper.finalResponse()).output_text, text);
  });

  test('throws what a stream fails with', async () => {
    const { token, baseURL } = await makeSmith();
    const openai = new OpenAI({ apiKey: token, baseURL, maxRetries: 0 });
    const stream = await openai.responses.create({ model: 'ironcraft', input: 'Fail with 400', stream: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    assert.equal(types.at(-1), 'response.failed');
  });
});

describe('ai', () => {
  const tools = {
    weather: tool({
      description: 'The weather',
      inputSchema: jsonSchema<{ city: string }>(city as never),
      execute: async (input: { city: string }) => `grey in ${input.city}`,
    }),
    clock: tool({
      description: 'The time',
      inputSchema: jsonSchema<{ zone: string }>(zone as never),
      execute: async (input: { zone: string }) => `noon in ${input.zone}`,
    }),
  };

  for (const store of [true, false]) {
    test(`streams a loop of tools within one run, ${store ? 'by reference to what is stored' : 'with nothing stored'}`, async () => {
      const smith = await makeSmith();
      const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
      const result = streamText({
        model: provider.responses('ironcraft'),
        prompt: TWO_CALLS,
        tools,
        stopWhen: isStepCount(4),
        maxRetries: 0,
        providerOptions: { openai: { store } },
      });
      let text = '';
      for await (const piece of result.textStream) text += piece;
      assert.match(text, BOTH_RESULTS);
      assert.equal(await result.finishReason, 'stop');
      assert.ok(((await result.totalUsage).totalTokens ?? 0) > 0);
      assert.equal((await result.steps).length, 2);
      assert.equal(await smith.countRuns(), 1);
    });
  }

  test('goes on with a conversation that it repeats by reference', async () => {
    const smith = await makeSmith();
    const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
    const model = provider.responses('ironcraft');
    const question = { role: 'user' as const, content: 'Think about rivers' };
    const first = await generateText({ model, messages: [question], maxRetries: 0 });
    const more = { role: 'user' as const, content: 'Write 3 words' };
    const messages = [question, ...first.response.messages, more];
    const second = await generateText({ model, messages, maxRetries: 0 });
    assert.equal(second.text.split(' ').length, 3);
  });

  test('reads thoughts, and a cut-off answer as such', async () => {
    const smith = await makeSmith();
    const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
    const model = provider.responses('ironcraft');
    const thinking = streamText({ model, prompt: 'Think about rivers', maxRetries: 0 });
    assert.match((await thinking.reasoningText) ?? '', /rivers/);
    const cut = await generateText({ model, prompt: 'Write 50 words', maxOutputTokens: 5, maxRetries: 0 });
    assert.equal(cut.finishReason, 'length');
  });
});

describe('langchain', () => {
  test('streams a loop of tools within one run', async () => {
    const smith = await makeSmith();
    const model = new ChatOpenAI({
      model: 'ironcraft',
      apiKey: smith.token,
      configuration: { baseURL: smith.baseURL },
      maxRetries: 0,
      useResponsesApi: true,
    }).bindTools([
      { type: 'function', function: { name: 'weather', parameters: city } },
      { type: 'function', function: { name: 'clock', parameters: zone } },
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
    assert.match(answered.text, BOTH_RESULTS);
    assert.equal(await smith.countRuns(), 1);
  });
});

async function gather(streaming: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await streaming) whole = whole === undefined ? chunk : whole.concat(chunk);
  assert.ok(whole);
  return whole;
}
