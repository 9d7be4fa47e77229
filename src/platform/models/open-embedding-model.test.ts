import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { createManualClock, runWithClock } from '../../kernel/clock/clock.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import {
  callEmbeddingModel,
  type EmbeddingCall,
  listProviders,
  ModelCallError,
  type ModelCredentials,
  openEmbeddingModel,
  parseEmbeddingModelId,
} from './index.ts';

const KEY = 'key-0123456789';

let upstream: OpenAiUpstream;
before(async () => {
  upstream = await startOpenAiUpstream();
});
beforeEach(() => upstream.respondWith({ type: 'embeddings' }));
after(() => upstream.close());

interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Opens a model, makes one call, and returns the request it would have sent. */
async function capture(
  modelId: string,
  credentials: ModelCredentials | undefined,
  dimensions?: number,
): Promise<SentRequest> {
  let sent: SentRequest | undefined;
  const model = await openEmbeddingModel(modelId, credentials, async (input, init) => {
    const request = new Request(input, init);
    sent = { url: request.url, headers: request.headers, body: JSON.parse(await request.text()) };
    return new Response('{"message":"stop here"}', { status: 400, headers: { 'content-type': 'application/json' } });
  });
  await assert.rejects(callEmbeddingModel({ model, values: ['x'], dimensions }), ModelCallError);
  assert.ok(sent !== undefined, `${modelId} sent nothing through the fetch it was given`);
  return sent;
}

function refusal(code: string) {
  return (error: unknown) => error instanceof ApiError && error.code === code;
}

describe('the request', () => {
  const google = 'https://generativelanguage.googleapis.com/v1beta/models';
  const bedrock = 'https://bedrock-runtime.us-east-1.amazonaws.com/model';
  const cases: readonly {
    model: string;
    url: string;
    header?: string;
    asked: (body: Record<string, unknown>) => unknown;
  }[] = [
    {
      model: 'openai/text-embedding-3-small',
      url: 'https://api.openai.com/v1/embeddings',
      asked: (body) => body.dimensions,
    },
    {
      model: 'google/gemini-embedding-001',
      url: `${google}/gemini-embedding-001:embedContent`,
      header: 'x-goog-api-key',
      asked: (body) => body.outputDimensionality,
    },
    {
      model: 'mistral/codestral-embed',
      url: 'https://api.mistral.ai/v1/embeddings',
      asked: (body) => body.output_dimension,
    },
    { model: 'together/a/b', url: 'https://api.together.xyz/v1/embeddings', asked: (body) => body.dimensions },
    { model: 'openrouter/a/b', url: 'https://openrouter.ai/api/v1/embeddings', asked: (body) => body.dimensions },
    {
      model: 'bedrock/amazon.titan-embed-text-v2:0',
      url: `${bedrock}/amazon.titan-embed-text-v2%3A0/invoke`,
      asked: (body) => body.dimensions,
    },
    {
      model: 'bedrock/cohere.embed-v4:0',
      url: `${bedrock}/cohere.embed-v4%3A0/invoke`,
      asked: (body) => body.output_dimension,
    },
  ];
  for (const { model, url, header = 'authorization', asked } of cases) {
    test(`of ${model} goes to the vendor with the key and the dimensions`, async () => {
      const sent = await capture(model, { apiKey: KEY }, 512);
      assert.equal(sent.url, url);
      assert.equal(sent.headers.get(header), header === 'authorization' ? `Bearer ${KEY}` : KEY);
      assert.equal(asked(sent.body), 512);
      assert.equal(asked((await capture(model, { apiKey: KEY })).body), undefined);
    });
  }

  test('of Amazon’s Nova takes its dimensions in a place of its own', async () => {
    const { body } = await capture('bedrock/amazon.nova-2-multimodal-embeddings-v1:0', { apiKey: KEY }, 384);
    assert.equal(Object(body.singleEmbeddingParams).embeddingDimension, 384);
  });

  test('of openai carries the workspace as its project', async () => {
    const sent = await capture('text-embedding-3-small', { apiKey: KEY, workspaceId: 'proj_42' });
    assert.equal(sent.headers.get('openai-project'), 'proj_42');
  });

  test('goes to the base_url of the credentials, for every provider that has embeddings', async () => {
    for (const { provider } of listProviders()) {
      if (provider === 'builtin' || provider === 'anthropic') continue;
      const sent = await capture(`${provider}/m`, { apiKey: KEY, baseUrl: 'https://proxy.example.com/llm/' });
      assert.ok(sent.url.startsWith('https://proxy.example.com/llm/'), `${provider}: ${sent.url}`);
    }
  });

  test('of a local server needs no key', async () => {
    assert.equal((await capture('ollama/nomic-embed-text', undefined)).url, 'http://127.0.0.1:11434/v1/embeddings');
    assert.equal((await capture('vllm/m', undefined)).url, 'http://127.0.0.1:8000/v1/embeddings');
  });

  test('is not made without the key or the address that it needs', async () => {
    for (const { provider, needsKey } of listProviders()) {
      if (!needsKey || provider === 'bedrock' || provider === 'anthropic') continue;
      await assert.rejects(openEmbeddingModel(`${provider}/x`, undefined, fetch), (error) => {
        assert.ok(refusal('model_key_missing')(error));
        assert.match(String(error), /builtin\/embed/);
        return true;
      });
    }
    await assert.rejects(openEmbeddingModel('bedrock/x', undefined, fetch), refusal('bedrock_unconfigured'));
    await assert.rejects(
      openEmbeddingModel('openai-compatible/x', { apiKey: KEY }, fetch),
      refusal('model_key_missing'),
    );
  });
});

test('an id is provider/model, or a bare name of OpenAI’s', () => {
  assert.deepEqual(parseEmbeddingModelId('builtin/embed'), { provider: 'builtin', model: 'embed' });
  assert.deepEqual(parseEmbeddingModelId('text-embedding-3-large'), {
    provider: 'openai',
    model: 'text-embedding-3-large',
  });
  assert.deepEqual(parseEmbeddingModelId('together/BAAI/bge'), { provider: 'together', model: 'BAAI/bge' });
  assert.throws(() => parseEmbeddingModelId('nobody/x'), refusal('unknown_provider'));
  assert.throws(() => parseEmbeddingModelId('/x'), refusal('unknown_provider'));
  for (const id of ['', 'x'.repeat(257), 'openai/', 'builtin/demo', 'anthropic/claude']) {
    assert.throws(() => parseEmbeddingModelId(id), refusal('invalid_request'), id);
  }
});

describe('a call', () => {
  const slept: number[] = [];
  async function call(options: Partial<EmbeddingCall> = {}) {
    slept.length = 0;
    const model = await openEmbeddingModel('openai/m', { apiKey: KEY, baseUrl: upstream.url }, fetch);
    const sleep = async (ms: number) => {
      slept.push(ms);
    };
    return callEmbeddingModel({ model, values: ['a', 'b'], sleep, ...options });
  }
  const failsAs = (kind: ModelCallError['kind'], attempts: number) => (error: unknown) => {
    assert.ok(error instanceof ModelCallError, String(error));
    assert.deepEqual([error.kind, error.attempts], [kind, attempts], error.message);
    return true;
  };

  test('answers with a vector a text and the tokens', async () => {
    const { embeddings, tokens } = await call();
    assert.deepEqual([embeddings.length, embeddings[0]?.length, tokens], [2, 8, 10]);
    assert.notDeepEqual(embeddings[0], embeddings[1]);
  });

  test('is made again after the pause that Retry-After names, and with growing pauses where none is named', async () => {
    upstream.respondWith([
      { type: 'status', status: 429, headers: { 'retry-after': '7' } },
      { type: 'status', status: 500 },
      { type: 'embeddings' },
    ]);
    await call();
    assert.equal(slept[0], 7000);
    assert.ok((slept[1] ?? 0) >= 500 && (slept[1] ?? 0) <= 1000);
    upstream.respondWith({ type: 'status', status: 503 });
    await assert.rejects(call(), failsAs('upstream', 3));
  });

  test('is not made again where that is in vain', async () => {
    upstream.respondWith({ type: 'status', status: 400 });
    await assert.rejects(call(), failsAs('upstream', 1));
    upstream.respondWith({ type: 'status', status: 401 });
    await assert.rejects(call(), failsAs('authentication', 1));
    upstream.respondWith({ type: 'status', status: 429, headers: { 'retry-after': '3600' } });
    await assert.rejects(call(), failsAs('rate_limited', 1));
    const tooLong = { error: { message: "Invalid 'input[0]': maximum input length is 8192 tokens." } };
    upstream.respondWith({ type: 'status', status: 400, body: tooLong });
    await assert.rejects(call(), failsAs('context_length', 1));
  });

  test('ends and closes the connection when the model takes too long', async () => {
    upstream.respondWith({ type: 'hang_before_headers' });
    const count = upstream.requests.length;
    const clock = createManualClock(new Date(0));
    const asked = runWithClock(clock, () => call({ limits: { connectTimeoutMs: 100 } }));
    await upstream.waitForRequests(count + 1);
    clock.advance(100);
    await assert.rejects(asked, failsAs('timeout', 1));
    assert.equal(await upstream.requests[count]?.closed, 'client');
  });

  test('ends with the signal’s reason, also between two attempts', async () => {
    upstream.respondWith({ type: 'hang_before_headers' });
    const leaving = new AbortController();
    const count = upstream.requests.length;
    const asked = call({ signal: leaving.signal });
    await upstream.waitForRequests(count + 1);
    leaving.abort(new Error('gone'));
    await assert.rejects(asked, /gone/);
    upstream.respondWith({ type: 'status', status: 500 });
    const later = new AbortController();
    const sleep = async () => later.abort(new Error('gone'));
    await assert.rejects(call({ signal: later.signal, sleep }), /gone/);
  });
});
