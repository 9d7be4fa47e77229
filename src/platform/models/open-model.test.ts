import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { makeInstance } from '../../../test/support/schemas.ts';
import { openWaysOut } from '../../../test/support/ways-out.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { callModel, listProviders, type ModelCredentials, openModel, reasoningOptions, type WaysOut } from './index.ts';

const KEY = 'key-0123456789';
const waysOut = openWaysOut();
const PROMPT = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];

let upstream: OpenAiUpstream;
before(async () => {
  upstream = await startOpenAiUpstream();
});
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
  options: object = {},
): Promise<SentRequest> {
  let sent: SentRequest | undefined;
  const refused = { status: 400, headers: { 'content-type': 'application/json' } };
  const refusal = '{"error":{"message":"stop here"}}';
  const refuse: WaysOut = {
    async fetch(input, init) {
      const request = new Request(input, init);
      sent = { url: request.url, headers: request.headers, body: JSON.parse(await request.text()) };
      return new Response(refusal, refused);
    },
    async post({ url, headers, body }) {
      sent = { url: String(url), headers: new Headers(headers), body: JSON.parse(body) };
      return { ...refused, body: Readable.from([Buffer.from(refusal)]) };
    },
  };
  const model = await openModel(modelId, credentials, refuse, makeInstance);
  try {
    await callModel({ model, options: { prompt: PROMPT, ...options } }, () => {});
  } catch {
    // The request is what matters.
  }
  assert.ok(sent !== undefined, `${modelId} sent nothing by the ways it was given`);
  return sent;
}

function refusal(code: string) {
  return (error: unknown) => error instanceof ApiError && error.code === code;
}

describe('the request', () => {
  const cases: { model: string; url: string; header: string; value: string }[] = [
    {
      model: 'openai/gpt-4o',
      url: 'https://api.openai.com/v1/responses',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    {
      model: 'anthropic/claude-haiku-4-5',
      url: 'https://api.anthropic.com/v1/messages',
      header: 'x-api-key',
      value: KEY,
    },
    {
      model: 'google/gemini-2.5-flash',
      url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      header: 'x-goog-api-key',
      value: KEY,
    },
    {
      model: 'mistral/mistral-large-latest',
      url: 'https://api.mistral.ai/v1/chat/completions',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    { model: 'xai/grok-4.3', url: 'https://api.x.ai/v1/responses', header: 'authorization', value: `Bearer ${KEY}` },
    {
      model: 'groq/openai/gpt-oss-120b',
      url: 'https://api.groq.com/openai/v1/chat/completions',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    {
      model: 'openrouter/a/b',
      url: 'https://openrouter.ai/api/v1/chat/completions',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    {
      model: 'deepseek/deepseek-chat',
      url: 'https://api.deepseek.com/v1/chat/completions',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    {
      model: 'together/a/b',
      url: 'https://api.together.xyz/v1/chat/completions',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
    {
      model: 'bedrock/amazon.nova-lite-v1:0',
      url: 'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse-stream',
      header: 'authorization',
      value: `Bearer ${KEY}`,
    },
  ];
  for (const { model, url, header, value } of cases) {
    test(`of ${model} goes to the vendor with the key`, async () => {
      const sent = await capture(model, { apiKey: KEY });
      assert.equal(sent.url, url);
      assert.equal(sent.headers.get(header), value);
    });
  }

  for (const [provider, port] of [
    ['ollama', 11434],
    ['vllm', 8000],
    ['llamacpp', 8080],
  ]) {
    test(`of ${provider} needs no key and goes to its usual port`, async () => {
      const sent = await capture(`${provider}/llama3`, undefined);
      assert.equal(sent.url, `http://127.0.0.1:${port}/v1/chat/completions`);
    });
  }

  test('goes to the base_url of the credentials', async () => {
    for (const provider of listProviders()) {
      if (provider.provider === 'builtin') continue;
      const sent = await capture(`${provider.provider}/some-model`, {
        apiKey: KEY,
        baseUrl: 'https://proxy.example.com/llm/',
      });
      assert.ok(sent.url.startsWith('https://proxy.example.com/llm/'), `${provider.provider}: ${sent.url}`);
    }
  });

  test('of openai speaks chat completions to a host that is not OpenAI’s, and responses to a regional one', async () => {
    const other = await capture('openai/gpt-4o', { apiKey: KEY, baseUrl: 'https://proxy.example.com/v1' });
    assert.equal(other.url, 'https://proxy.example.com/v1/chat/completions');
    const regional = await capture('openai/gpt-4o', { apiKey: KEY, baseUrl: 'https://eu.api.openai.com/v1' });
    assert.equal(regional.url, 'https://eu.api.openai.com/v1/responses');
    const lookalike = await capture('openai/gpt-4o', { apiKey: KEY, baseUrl: 'https://notapi.openai.com.example/v1' });
    assert.match(lookalike.url, /chat\/completions$/);
  });

  test('of openai carries the workspace as its project', async () => {
    const sent = await capture('openai/gpt-4o', { apiKey: KEY, workspaceId: 'proj_42' });
    assert.equal(sent.headers.get('openai-project'), 'proj_42');
    const none = await capture('openai/gpt-4o', { apiKey: KEY });
    assert.equal(none.headers.get('openai-project'), null);
  });

  test('carries a reasoning effort in the words of each provider', async () => {
    const openai = await capture('openai/gpt-5', { apiKey: KEY }, reasoningOptions('openai/gpt-5', 'low'));
    assert.equal(Object(openai.body.reasoning).effort, 'low');
    const compatible = await capture('vllm/qwen3', undefined, reasoningOptions('vllm/qwen3', 'high'));
    assert.equal(compatible.body.reasoning_effort, 'high');
    const plain = await capture('openai/gpt-4o', { apiKey: KEY }, reasoningOptions('openai/gpt-4o', 'high'));
    assert.equal(plain.body.reasoning, undefined);
  });
});

describe('Bedrock credentials', () => {
  const ACCESS = 'AKIAIOSFODNN7EXAMPLE';
  const signed = [
    { name: 'ACCESS:SECRET:REGION', apiKey: `${ACCESS}:secret/key+1:eu-west-3`, region: 'eu-west-3' },
    { name: 'ACCESS:SECRET', apiKey: `${ACCESS}:secret/key+1`, region: 'us-east-1' },
    {
      name: 'JSON',
      apiKey: JSON.stringify({ accessKeyId: ACCESS, secretAccessKey: 's', sessionToken: 't', region: 'ap-south-1' }),
      region: 'ap-south-1',
    },
    {
      name: 'JSON in AWS spelling',
      apiKey: JSON.stringify({ AWS_ACCESS_KEY_ID: ACCESS, AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'ca-central-1' }),
      region: 'ca-central-1',
    },
  ];
  for (const { name, apiKey, region } of signed) {
    test(`as ${name} sign the request for their region`, async () => {
      const sent = await capture('bedrock/amazon.nova-lite-v1:0', { apiKey });
      assert.match(
        sent.headers.get('authorization') ?? '',
        new RegExp(`^AWS4-HMAC-SHA256 Credential=${ACCESS}/\\d+/${region}/bedrock/`),
      );
      assert.ok(sent.url.startsWith(`https://bedrock-runtime.${region}.amazonaws.com/`));
    });
  }

  test('as an API key take the region of JSON, or of the base_url', async () => {
    const json = await capture('bedrock/x', { apiKey: JSON.stringify({ api_key: KEY, region: 'eu-west-1' }) });
    assert.ok(json.url.startsWith('https://bedrock-runtime.eu-west-1.amazonaws.com/'));
    assert.equal(json.headers.get('authorization'), `Bearer ${KEY}`);
    const apiKey = `${ACCESS}:secret`;
    const host = await capture('bedrock/x', { apiKey, baseUrl: 'https://bedrock-runtime.sa-east-1.amazonaws.com' });
    assert.match(host.headers.get('authorization') ?? '', /\/sa-east-1\/bedrock\//);
  });

  for (const apiKey of ['', '{oops', '{}', `${ACCESS}:`, `${ACCESS}:secret:nowhere`, '{"access_key_id":"A"}']) {
    test(`as ${JSON.stringify(apiKey)} are refused without being repeated`, async () => {
      await assert.rejects(openModel('bedrock/x', { apiKey }, waysOut, makeInstance), (error) => {
        assert.ok(refusal('bedrock_unconfigured')(error));
        assert.ok(apiKey.length < 4 || !String(error).includes(apiKey));
        return true;
      });
    });
  }

  test('that are absent are refused', async () => {
    await assert.rejects(openModel('bedrock/x', undefined, waysOut, makeInstance), refusal('bedrock_unconfigured'));
  });
});

test('a provider that needs a key is refused without one, and one that needs an address without that', async () => {
  for (const { provider, needsKey } of listProviders()) {
    if (!needsKey || provider === 'bedrock') continue;
    await assert.rejects(openModel(`${provider}/x`, undefined, waysOut, makeInstance), refusal('model_key_missing'));
    await assert.rejects(
      openModel(`${provider}/x`, { apiKey: ' ' }, waysOut, makeInstance),
      refusal('model_key_missing'),
    );
  }
  await assert.rejects(
    openModel('openai-compatible/x', { apiKey: KEY }, waysOut, makeInstance),
    refusal('model_key_missing'),
  );
  await assert.rejects(openModel('nobody/x', { apiKey: KEY }, waysOut, makeInstance), refusal('unknown_provider'));
});

test('importing the port loads no provider and no price data', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { openModel } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    await openModel('builtin/demo', undefined, { fetch }, async () => ({}));
    process.stdout.write(JSON.stringify(loaded.filter((url) => url.includes('/node_modules/'))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.deepEqual(JSON.parse(stdout), []);
});
