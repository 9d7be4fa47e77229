/** Whole answers, errors and limits, of this server's client and of the dialect's package, against a real server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { openWaysOut } from '../../../../test/support/ways-out.ts';
import type { ChatModel } from '../chat-model.ts';
import { callModel, ModelCallError } from '../index.ts';
import { adaptSdkModel } from '../sdk-model.ts';
import { createCompatibleModel } from './compatible-model.ts';

const waysOut = openWaysOut();
let respond: (request: IncomingMessage, response: ServerResponse) => void = () => {};
const server = createServer((request, response) => respond(request, response)).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => {
  server.closeAllConnections();
  server.close();
});
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const KEY = 'sk-0123456789';

const client = createCompatibleModel(
  'vllm',
  { apiKey: KEY, baseUrl, model: 'm-1', vendorHost: false, workspaceId: undefined, fetch: waysOut.fetch },
  waysOut.post,
);
const options = { name: 'vllm', apiKey: KEY, baseURL: baseUrl, fetch: waysOut.fetch, includeUsage: true };
const ofPackage = adaptSdkModel(createOpenAICompatible({ ...options, supportsStructuredOutputs: true })('m-1'));

async function run(model: ChatModel, buffered: boolean): Promise<{ parts: unknown[]; error: unknown }> {
  const parts: LanguageModelV4StreamPart[] = [];
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  let failure: unknown;
  try {
    const call = { model, options: { prompt }, buffered, limits: { maxAttempts: 1 } };
    await callModel(call, (batch) => void parts.push(...batch));
  } catch (error) {
    assert.ok(error instanceof ModelCallError, String(error));
    failure = { kind: error.kind, message: error.message, retryAfterSeconds: error.retryAfterSeconds };
  }
  return { parts: parts.map(normalize), error: failure };
}

/** Without what nobody reads, and with one word for all ids that the reader had to make. */
function normalize(part: LanguageModelV4StreamPart): unknown {
  const shown = JSON.parse(JSON.stringify(part));
  if (part.type === 'finish') {
    delete shown.providerMetadata;
    delete shown.usage.raw;
  }
  if (/^call_.{26}$|^\w{16}$/.test(shown.toolCallId)) shown.toolCallId = 'made here';
  return shown;
}

function message(members: object, rest: object = {}): object {
  const choice = { index: 0, message: { role: 'assistant', ...members }, finish_reason: 'stop' };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_767_225_600,
    model: 'm-1',
    choices: [choice],
    ...rest,
  };
}

const call = (members: object) => ({
  type: 'function',
  function: { name: 'lookup', arguments: '{"q":1}' },
  ...members,
});

const ANSWERS: Readonly<Record<string, unknown>> = {
  'a text': message({ content: 'Hi' }, { usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } }),
  'nothing at all': message({ content: null }),
  'counts in detail': message(
    { content: 'Hi' },
    {
      usage: {
        prompt_tokens: 9,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    },
  ),
  'counts that are null': message(
    { content: 'Hi' },
    { usage: { prompt_tokens: null, completion_tokens_details: null } },
  ),
  thoughts: message({ content: 'Hi', reasoning_content: 'Hm.' }),
  'thoughts by their other name': message({ content: 'Hi', reasoning: 'Hm.' }),
  'a list of parts': message({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Hi' },
      { type: 'reference' },
    ],
  }),
  'a refusal': message({ content: null, refusal: 'No.' }),
  calls: message({ content: null, tool_calls: [call({ id: 'call_a' }), call({ id: 'call_b' })] }),
  'a call without an id': message({ content: null, tool_calls: [call({})] }),
  'a call with a signature': message({
    tool_calls: [call({ id: 'a', extra_content: { google: { thought_signature: 'c2ln' } } })],
  }),
  'no reason': { choices: [{ message: { content: 'Hi' } }] },
  'no choices': { choices: [] },
  'no message': { choices: [{ finish_reason: 'stop' }] },
  'content that is a number': message({ content: 5 }),
  'an error with status 200': { error: { message: 'Overloaded', type: 'server_error' } },
  'a list': [],
  null: null,
};

describe('a whole answer', () => {
  for (const [what, answer] of Object.entries(ANSWERS)) {
    test(`with ${what} is read as by the package`, async () => {
      respond = (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      const here = await run(client, true);
      assert.deepEqual(here, await run(ofPackage, true));
      assert.notEqual(here.parts.length > 0, here.error !== undefined);
    });
  }
});

const ERRORS: Readonly<Record<string, { status: number; type?: string; body: string }>> = {
  'a declared message': { status: 404, body: '{"error":{"message":"No such model.","type":"x","code":null}}' },
  'a key that is repeated': { status: 404, body: `{"error":{"message":"Not for ${KEY}.","type":"x"}}` },
  'a wrong key': { status: 401, body: '{"error":{"message":"Wrong.","type":"x"}}' },
  'a long prompt': { status: 400, body: '{"error":{"message":"maximum context length is 8","type":"x"}}' },
  'a limit': { status: 429, body: '{"error":{"message":"Slow down.","type":"x"}}' },
  'an error of the server': { status: 503, body: '' },
  'a text that is no error': { status: 400, body: '{"secret":"root:x:0:0"}' },
  'a page': { status: 500, type: 'text/html', body: '<html>root:x:0:0</html>' },
  'an endless error': { status: 400, body: `{"error":{"message":"${'x'.repeat(500_000)}","type":"x"}}` },
};

describe('an error', () => {
  for (const [what, { status, type = 'application/json', body }] of Object.entries(ERRORS)) {
    test(`with ${what} is told as the package's is`, async () => {
      respond = (_, response) => response.writeHead(status, { 'content-type': type, 'retry-after': '7' }).end(body);
      for (const buffered of [true, false]) {
        const here = await run(client, buffered);
        assert.deepEqual(here, await run(ofPackage, buffered));
        assert.doesNotMatch(JSON.stringify(here.error), /root|sk-0/);
      }
    });
  }

  test('of a server that redirects is a refusal, and nothing follows', async () => {
    let requests = 0;
    respond = (_, response) => {
      requests += 1;
      response.writeHead(307, { location: '/v1/other' }).end();
    };
    const here = await run(client, false);
    assert.deepEqual(here, await run(ofPackage, false));
    assert.equal(Object(here.error).kind, 'refused');
    assert.equal(requests, 2);
  });
});

const EVENT = `data: ${JSON.stringify({ choices: [{ delta: { content: 'Grüße 👋🏽' }, finish_reason: 'stop' }] })}\n\n`;

test('an answer that comes in gzip is read', async () => {
  respond = (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(`${EVENT}data: [DONE]\n\n`));
  const { parts, error } = await run(client, false);
  assert.equal(error, undefined);
  assert.match(JSON.stringify(parts), /Grüße 👋🏽/);
});

test('the parts that came together are given together', async () => {
  respond = (_, response) => response.writeHead(200).end(`${EVENT.repeat(50)}data: [DONE]\n\n`);
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  const sizes: number[] = [];
  await callModel({ model: client, options: { prompt } }, (parts) => void sizes.push(parts.length));
  assert.deepEqual(sizes, [54]);
});

test('an answer is over at [DONE], though its connection stays open', async () => {
  respond = (_, response) => void response.writeHead(200).write(`${EVENT}data: [DONE]\n\n`);
  const { error } = await run(client, false);
  assert.equal(error, undefined);
});

test('an event without an end is more than an answer may have, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>();
  respond = (_, response) => {
    response.on('close', () => closed.resolve());
    response.writeHead(200).write('data: ');
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1_000_000, 'x')));
    };
    response.on('drain', pour);
    pour();
  };
  assert.equal(Object((await run(client, false)).error).kind, 'too_large');
  await closed.promise;
});
