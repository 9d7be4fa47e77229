/** Requests as this server's client writes them, against those of the dialect's package. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { renderRequest } from './request-body.ts';

type Options = Omit<LanguageModelV4CallOptions, 'prompt'> & { readonly prompt?: LanguageModelV4Prompt };

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 'base64');
const HELLO = Buffer.from('Grüße').toString('base64');

function user(...content: Extract<LanguageModelV4Message, { role: 'user' }>['content']): LanguageModelV4Message {
  return { role: 'user', content };
}

function file(mediaType: string, data: string | Uint8Array, filename?: string) {
  const named = filename === undefined ? {} : { filename };
  return { type: 'file' as const, mediaType, data: { type: 'data' as const, data }, ...named };
}

function link(mediaType: string, url: string) {
  return { type: 'file' as const, mediaType, data: { type: 'url' as const, url: new URL(url) } };
}

const TEXT = { type: 'text' as const, text: 'What is this?' };
const TOOL = {
  type: 'function' as const,
  name: 'lookup',
  description: 'Looks up',
  inputSchema: { type: 'object' as const, properties: { q: { type: 'string' as const } } },
};
const CALL = { type: 'tool-call' as const, toolCallId: 'call_1', toolName: 'lookup', input: { q: 'rain' } };

function answered(output: LanguageModelV4ToolResultPart['output']): LanguageModelV4Prompt {
  return [
    user(TEXT),
    { role: 'assistant', content: [CALL] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'call_1', toolName: 'lookup', output }] },
  ];
}

const REQUESTS: Readonly<Record<string, Options>> = {
  'a question': {},
  'instructions and a long conversation': {
    prompt: [
      { role: 'system', content: 'Be brief.' },
      user(TEXT),
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'A ' },
          { type: 'text', text: 'cat.' },
        ],
      },
      user(TEXT, { type: 'text', text: 'Really?' }),
    ],
  },
  'a message without content': { prompt: [user(), { role: 'assistant', content: [] }] },
  'characters of all kinds': { prompt: [user({ type: 'text', text: 'ü 👋🏽 \u2028 "\\\n\u0000 \ud800' })] },
  sampling: {
    maxOutputTokens: 5,
    temperature: 0,
    topP: 0.5,
    topK: 3,
    frequencyPenalty: -1,
    presencePenalty: 1,
    seed: 7,
    stopSequences: ['\n', 'END'],
  },
  'an effort': { reasoning: 'high' },
  'no effort': { reasoning: 'none' },
  'the effort that is usual': { reasoning: 'provider-default' },
  'a text': { responseFormat: { type: 'text' } },
  JSON: { responseFormat: { type: 'json' } },
  'JSON of a schema': { responseFormat: { type: 'json', schema: { type: 'object', properties: {} } } },
  'JSON of a named schema': {
    responseFormat: { type: 'json', name: 'weather', description: 'Of today', schema: { type: 'object' } },
  },
  'a tool': { tools: [TOOL] },
  'no tools': { tools: [], toolChoice: { type: 'auto' } },
  'a strict tool and a loose one': {
    tools: [
      { ...TOOL, strict: true },
      { type: 'function', name: 'now', inputSchema: { type: 'object' }, strict: false },
    ],
  },
  "a tool of the provider's": { tools: [TOOL, { type: 'provider', id: 'x.search', name: 'search', args: {} }] },
  ...Object.fromEntries(
    (['auto', 'none', 'required'] as const).map((type) => [
      `the choice ${type}`,
      { tools: [TOOL], toolChoice: { type } },
    ]),
  ),
  'a chosen tool': { tools: [TOOL], toolChoice: { type: 'tool', toolName: 'lookup' } },
  'a call and its result': { prompt: answered({ type: 'text', value: 'It rains.' }) },
  'a result in JSON': { prompt: answered({ type: 'json', value: { rain: [1, null, 'ü'] } }) },
  'a failed call': { prompt: answered({ type: 'error-text', value: 'No.' }) },
  'a failed call in JSON': { prompt: answered({ type: 'error-json', value: { no: true } }) },
  'a denied call': { prompt: answered({ type: 'execution-denied' }) },
  'a denied call with a reason': { prompt: answered({ type: 'execution-denied', reason: 'Not today.' }) },
  'a result of several parts': { prompt: answered({ type: 'content', value: [{ type: 'text', text: 'a' }] }) },
  'an approval': {
    prompt: [{ role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a', approved: true }] }],
  },
  'thoughts, text and calls': {
    prompt: [
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'reasoning', text: 'm.' },
          { type: 'text', text: 'Calling.' },
          CALL,
          { ...CALL, toolCallId: 'call_2', providerOptions: { google: { thoughtSignature: 'c2ln' } } },
          { ...CALL, toolCallId: 'call_3', providerOptions: { vllm: { thoughtSignature: 'b3du' } } },
          { ...CALL, toolCallId: 'call_4', input: '{"already":"text"}' },
          { ...CALL, toolCallId: 'call_5', input: 'no JSON' },
          { ...CALL, toolCallId: 'call_6', input: {} },
        ],
      },
    ],
  },
  'an image': { prompt: [user(TEXT, file('image/png', PNG))] },
  'an image in base64, alone': { prompt: [user(file('image/jpeg', '/9j/4AAQ'))] },
  'an image of half a type': { prompt: [user(TEXT, file('image/*', PNG), file('image', PNG.toString('base64')))] },
  'an image that nobody knows': { prompt: [user(file('image/*', Buffer.from('none at all')))] },
  'an image by address': { prompt: [user(link('image/*', 'https://example.com/a b.png'))] },
  'a video': { prompt: [user(file('video/mp4', HELLO), link('video/*', 'https://example.com/v'))] },
  sound: { prompt: [user(file('audio/wav', HELLO), file('audio/mpeg', PNG), file('audio/mp3', HELLO))] },
  'sound of another kind': { prompt: [user(file('audio/ogg', HELLO))] },
  'sound by address': { prompt: [user(link('audio/wav', 'https://example.com/a.wav'))] },
  'a document': { prompt: [user(file('application/pdf', HELLO), file('application/pdf', PNG, 'q.pdf'))] },
  'a document of another kind': { prompt: [user(file('application/zip', HELLO))] },
  'a document by address': { prompt: [user(link('application/pdf', 'https://example.com/a.pdf'))] },
  'a text file': { prompt: [user(file('text/markdown', HELLO), file('text/plain', Buffer.from('Grüße')))] },
  'a text file by address': { prompt: [user(link('text/plain', 'https://example.com/a.txt'))] },
  'a text as a file': { prompt: [user({ type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'Hi' } })] },
  'a text as a file of another kind': {
    prompt: [user({ type: 'file', mediaType: 'application/json', data: { type: 'text', text: '{}' } })],
  },
  'a file that the provider has': {
    prompt: [
      user({ type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { vllm: 'file_1' } } }),
    ],
  },
  'a file that another provider has': {
    prompt: [user({ type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { openai: 'f' } } })],
  },
  'a file of no kind': { prompt: [user(file('model/obj', HELLO))] },
};

interface Written {
  readonly body: string;
  readonly warnings: unknown;
}

async function writeByPackage(options: LanguageModelV4CallOptions, streamed: boolean): Promise<Written> {
  let body = '';
  const answer = async (_url: unknown, init?: RequestInit) => {
    body = String(init?.body);
    const choice = { index: 0, message: { content: '' }, delta: {}, finish_reason: 'stop' };
    const text = JSON.stringify({ choices: [choice] });
    return new Response(streamed ? `data: ${text}\n\n` : text);
  };
  const common = { name: 'vllm', apiKey: 'none', baseURL: 'http://model.example/v1', fetch: answer };
  const model = createOpenAICompatible({ ...common, includeUsage: true, supportsStructuredOutputs: true })('m-1');
  if (!streamed) return { warnings: (await model.doGenerate(options)).warnings, body };
  for await (const part of (await model.doStream(options)).stream) {
    if (part.type === 'stream-start') return { body, warnings: part.warnings };
  }
  throw new Error('The stream never started.');
}

async function outcomeOf(written: Promise<Written>): Promise<Written | string> {
  return written.catch((error: Error) => `${error.name}: ${error.message}`);
}

for (const [what, given] of Object.entries(REQUESTS)) {
  test(`a request with ${what} is the package's, byte by byte, or refused in its words`, async () => {
    const options: LanguageModelV4CallOptions = { prompt: [user({ type: 'text', text: 'Hello?' })], ...given };
    for (const streamed of [true, false]) {
      const here = await outcomeOf(renderRequest({ provider: 'vllm', model: 'm-1' }, options, streamed));
      assert.deepEqual(here, await outcomeOf(writeByPackage(options, streamed)));
    }
  });
}
