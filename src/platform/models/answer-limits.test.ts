/** Answers without end, or with more in them than a model says: they end with an error, and the connection with them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { makeInstance } from '../../../test/support/schemas.ts';
import { openWaysOut } from '../../../test/support/ways-out.ts';
import { ANSWER_CALLS_MAX } from './answer-limits.ts';
import { callModel, ModelCallError, openModel } from './index.ts';

/** One spoken to by its package, one by the client of this server. */
const BOTH = ['openai', 'openai-compatible'] as const;
const PIECE = 'x'.repeat(64 * 1024);

const waysOut = openWaysOut();
let answer: (response: ServerResponse) => Promise<void>;
let closed: Promise<unknown>;
const server = createServer((_request, response) => {
  closed = once(response, 'close');
  void answer(response);
});
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => {
  server.closeAllConnections();
  server.close();
});

/** The same again and again, as fast as it is read, for as long as anybody reads. */
async function repeat(response: ServerResponse, piece: string): Promise<void> {
  while (!response.destroyed) {
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
  }
}

function event(delta: object): string {
  const choices = [{ index: 0, delta, finish_reason: null }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
}

function call(index: number, name: string | undefined, args: string) {
  return {
    index,
    ...(name === undefined ? {} : { id: `call_${index}`, type: 'function' }),
    function: { name, arguments: args },
  };
}

async function ask(provider: (typeof BOTH)[number], buffered: boolean): Promise<ModelCallError> {
  const { port } = server.address() as AddressInfo;
  const model = await openModel(
    `${provider}/m`,
    { apiKey: 'k', baseUrl: `http://127.0.0.1:${port}/v1` },
    waysOut,
    makeInstance,
  );
  const options = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }] };
  const failure = await callModel({ model, options, buffered }, () => undefined).then(
    () => assert.fail('the call ends'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ModelCallError, String(failure));
  await closed;
  return failure;
}

const FIRST = event({ role: 'assistant', content: 'Hello' });
const ENDLESS: readonly {
  readonly what: string;
  readonly piece: string;
  readonly of: readonly (typeof BOTH)[number][];
}[] = [
  { what: 'text', piece: event({ content: PIECE }), of: BOTH },
  { what: 'arguments', piece: event({ tool_calls: [call(0, undefined, PIECE)] }), of: BOTH },
  { what: 'comments', piece: `: ${PIECE}\n`, of: BOTH },
];

for (const { what, piece, of } of ENDLESS) {
  for (const provider of of) {
    test(`a stream of ${provider} with ${what} without end`, async () => {
      answer = async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(FIRST);
        if (what === 'arguments') response.write(event({ tool_calls: [call(0, 'look', '{')] }));
        await repeat(response, piece);
      };
      const { kind, message, attempts } = await ask(provider, false);
      assert.deepEqual([kind, attempts], ['too_large', 1]);
      assert.match(
        message,
        /^\S+ sent more than an answer of \S+ may have: the (answer|server) .* more than \d+ (bytes|characters)/,
      );
    });
  }
}

test('a stream with arguments without end of a call that has no name', async () => {
  answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await repeat(response, event({ tool_calls: [call(0, undefined, PIECE)] }));
  };
  assert.equal((await ask('openai-compatible', false)).kind, 'too_large');
});

test('a stream with more calls of tools than a model makes', async () => {
  answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      event({ tool_calls: Array.from({ length: ANSWER_CALLS_MAX + 1 }, (_, index) => call(index, 'look', '{}')) }),
    );
  };
  const { kind, message } = await ask('openai-compatible', false);
  assert.equal(kind, 'too_large');
  assert.match(message, /more than 1000 calls of tools/);
});

for (const provider of BOTH) {
  test(`an answer of ${provider} in one piece without end`, async () => {
    answer = async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"');
      await repeat(response, PIECE);
    };
    assert.equal((await ask(provider, true)).kind, 'too_large');
  });
}
