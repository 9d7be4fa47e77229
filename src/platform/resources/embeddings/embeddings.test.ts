import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const BACKOFF = { backoffBaseMs: 1, backoffMaxMs: 2 };
const KEY = 'sk-test-0123456789abcdef';

const platform = await startPlatform({ modelCall: BACKOFF });
/** For models that are silent. */
const impatient = await startPlatform({ modelCall: { ...BACKOFF, connectTimeoutMs: 200 }, sharing: platform });
let upstream: OpenAiUpstream;
before(async () => {
  upstream = await startOpenAiUpstream();
});
beforeEach(() => upstream.respondWith({ type: 'embeddings' }));
after(async () => {
  await upstream.close();
  await impatient.close();
  await platform.close();
});

const create = (project: Pick<TestProject, 'post'>, body: Record<string, unknown>) =>
  project.post('/v1/embeddings', body);

async function projectWithKey(provider = 'openai-compatible'): Promise<TestProject> {
  const project = await platform.createProject();
  const saved = await project.put(`/v1/tenant/model_keys/${provider}`, { api_key: KEY, base_url: upstream.url });
  assert.equal(saved.status, 200, saved.text);
  return project;
}

function similarity(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

describe('builtin/embed', () => {
  test('answers without a key, a model or a network, with every field', async () => {
    const { status, body } = await create(await platform.createProject(), {
      input: ['a cat sat', 'kitten', 'tax law'],
    });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ['data', 'model', 'object', 'usage']);
    assert.equal(body.object, 'list');
    assert.equal(body.model, 'builtin/embed');
    assert.deepEqual(body.usage, { prompt_tokens: 6, total_tokens: 6 });
    assert.deepEqual(
      body.data.map(({ object, index }: { object: string; index: number }) => [object, index]),
      [
        ['embedding', 0],
        ['embedding', 1],
        ['embedding', 2],
      ],
    );
    const [cat, kitten, tax] = body.data.map(({ embedding }: { embedding: number[] }) => embedding);
    assert.equal(cat.length, 512);
    assert.ok(Math.abs(similarity(cat, cat) - 1) < 1e-6);
    assert.ok(similarity(cat, kitten) > similarity(cat, tax) + 0.2);
  });

  test('takes a text, texts, tokens and lists of tokens, which are the same', async () => {
    const project = await platform.createProject();
    // "hello world" and " tiktoken" in cl100k_base.
    const [hello, other] = [
      [15339, 1917],
      [87272, 5963],
    ];
    const vectorsOf = async (input: unknown) =>
      (await create(project, { input })).body.data.map((each: { embedding: number[] }) => each.embedding);
    const [text] = await vectorsOf('hello world');
    assert.deepEqual(await vectorsOf(['hello world']), [text]);
    assert.deepEqual(await vectorsOf(hello), [text]);
    const [, second] = await vectorsOf(['hello world', ' tiktoken']);
    assert.deepEqual(await vectorsOf([hello, other]), [text, second]);
  });

  test('refuses other dimensions than its own', async () => {
    const project = await platform.createProject();
    assert.equal((await create(project, { input: 'x', dimensions: 512 })).status, 200);
    const { status, body } = await create(project, { input: 'x', dimensions: 256 });
    assert.deepEqual([status, body.error.code, body.error.param], [422, 'invalid_request', 'dimensions']);
  });

  test('takes what clients send besides, and nulls for what is optional', async () => {
    const project = await platform.createProject();
    const extra = { model: null, dimensions: null, encoding_format: null, user: 'ada', input_type: 'query' };
    const { status, body } = await create(project, { input: 'x', ...extra });
    assert.deepEqual([status, body.model], [200, 'builtin/embed']);
  });

  test('takes as many inputs as a request may have', async () => {
    const project = await platform.createProject();
    const input = Array.from({ length: 2048 }, (_, index) => `text ${index % 3}`);
    const { status, body } = await create(project, { input, encoding_format: 'base64' });
    assert.equal(status, 200);
    assert.equal(body.data.length, 2048);
    assert.equal(body.data[2047].embedding, body.data[1].embedding);
  });
});

describe('the official client', () => {
  test('reads the same vectors in its default encoding, which is base64, and as numbers', async () => {
    const project = await platform.createProject();
    const client = new OpenAI({ apiKey: project.token, baseURL: `${platform.url}/v1` });
    const request = { model: 'builtin/embed', input: ['The river is high.', 'Bonjour'] };
    const [coded, plain] = [
      await client.embeddings.create(request),
      await client.embeddings.create({ ...request, encoding_format: 'float' }),
    ];
    assert.equal(coded.data[0]?.embedding.length, 512);
    assert.deepEqual(
      coded.data.map(({ embedding }) => Array.from(embedding)),
      plain.data.map(({ embedding }) => embedding),
    );
    assert.deepEqual(coded.usage, plain.usage);
  });

  test('does not repeat a request that a provider refused for good', async () => {
    upstream.respondWith({ type: 'status', status: 401 });
    const project = await projectWithKey();
    const client = new OpenAI({ apiKey: project.token, baseURL: `${platform.url}/v1` });
    const before = upstream.requests.length;
    const asked = client.embeddings.create({ model: 'openai-compatible/m', input: 'x' });
    await assert.rejects(asked, (error) => error instanceof OpenAI.APIError && error.code === 'embedding_unavailable');
    assert.equal(upstream.requests.length, before + 1);
  });
});

describe('an input that is none', () => {
  const cases: readonly (readonly [input: unknown, param: string, code?: string])[] = [
    [undefined, 'input'],
    [null, 'input'],
    [7, 'input'],
    [{}, 'input'],
    ['', 'input'],
    [[], 'input'],
    [['a', ''], 'input.1'],
    [['a', 'b', 7], 'input.2'],
    [['a', [1]], 'input.1'],
    [['a', ['b']], 'input.1.0'],
    [[[1], 'b'], 'input.1'],
    [[[1], []], 'input.1'],
    [[['a']], 'input.0.0'],
    [[1, 'a'], 'input.1'],
    [[1, -1], 'input.1'],
    [[1.5], 'input.0'],
    [[100_256], 'input.0'],
    [[[1], [5, 200_000]], 'input.1.1'],
    [['a', 'x'.repeat(65_537)], 'input.1'],
    [Array.from({ length: 8193 }, () => 1), 'input'],
    [Array.from({ length: 2049 }, () => 'x'), 'input', 'too_many_inputs'],
    [Array.from({ length: 20 }, () => 'x'.repeat(60_001)), 'input', 'too_many_inputs'],
  ];
  for (const [input, param, code = 'invalid_input'] of cases) {
    test(`${(JSON.stringify(input) ?? 'absent').slice(0, 40)} is refused by name`, async () => {
      const { status, body } = await create(await platform.createProject(), { input });
      assert.deepEqual([status, body.error.code, body.error.param], [422, code, param], body.error.message);
    });
  }

  for (const [name, value] of Object.entries({ model: 7, dimensions: 0, encoding_format: 'hex', user: {} })) {
    test(`or a wrong ${name}`, async () => {
      const { status, body } = await create(await platform.createProject(), { input: 'x', [name]: value });
      assert.deepEqual([status, body.error.code, body.error.param], [422, 'invalid_request', name]);
    });
  }
});

describe('a model', () => {
  const cases: readonly (readonly [model: string, status: number, code: string, said: RegExp])[] = [
    ['nowhere/model', 404, 'unknown_provider', /nowhere/],
    ['builtin/demo', 422, 'invalid_request', /builtin\/embed/],
    ['anthropic/claude-haiku-4-5', 422, 'invalid_request', /no embedding models/],
    ['openai/', 422, 'invalid_request', /names no model/],
    ['', 422, 'invalid_request', /provider\/model/],
    ['openai/text-embedding-3-small', 422, 'model_key_missing', /model_keys\/openai/],
    ['text-embedding-3-small', 422, 'model_key_missing', /model_keys\/openai/],
    ['bedrock/amazon.titan-embed-text-v2:0', 422, 'bedrock_unconfigured', /Bedrock/],
  ];
  for (const [model, status, code, said] of cases) {
    test(`"${model}" is refused with ${code}`, async () => {
      const answer = await create(await platform.createProject(), { input: 'x', model });
      assert.deepEqual([answer.status, answer.body.error.code], [status, code]);
      assert.match(answer.body.error.message, said);
    });
  }

  test('with a bare name is OpenAI’s, and is named in full in the answer', async () => {
    const project = await projectWithKey('openai');
    const { status, body } = await create(project, {
      input: ['x', 'y'],
      model: 'text-embedding-3-small',
      dimensions: 4,
    });
    assert.equal(status, 200);
    assert.equal(body.model, 'openai/text-embedding-3-small');
    assert.deepEqual(body.usage, { prompt_tokens: 10, total_tokens: 10 });
    assert.ok(Math.abs(similarity(body.data[1].embedding, body.data[1].embedding) - 1) < 1e-6, 'of unit length');
    const request = upstream.requests.at(-1);
    assert.equal(request?.path, '/v1/embeddings');
    assert.equal(request.headers.authorization, `Bearer ${KEY}`);
    const sent = Object(request.body);
    assert.deepEqual([sent.model, sent.input, sent.dimensions], ['text-embedding-3-small', ['x', 'y'], 4]);
  });

  test('that refuses the length that was asked for says so', async () => {
    const message = 'This model does not support specifying dimensions.';
    const error = { message, type: 'invalid_request_error', param: 'dimensions', code: null };
    upstream.respondWith({ type: 'status', status: 400, body: { error } });
    const refused = await create(await projectWithKey(), { input: 'x', model: 'openai-compatible/m', dimensions: 4 });
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.param],
      [422, 'invalid_request', 'dimensions'],
    );
    const bedrock = await projectWithKey('bedrock');
    const odd = await create(bedrock, { input: 'x', model: 'bedrock/amazon.titan-embed-text-v2:0', dimensions: 300 });
    assert.deepEqual([odd.status, odd.body.error.code, odd.body.error.param], [422, 'invalid_request', 'dimensions']);
  });

  test('that answers with another length than was asked for says so', async () => {
    upstream.respondWith({ type: 'embeddings', dimensions: 8 });
    const { status, body } = await create(await projectWithKey(), {
      input: 'x',
      model: 'openai-compatible/m',
      dimensions: 4,
    });
    assert.deepEqual([status, body.error.code, body.error.param], [422, 'invalid_request', 'dimensions']);
  });
});

describe('a provider', () => {
  const ask = async (input: unknown = 'x') =>
    create(await projectWithKey(), { input, model: 'openai-compatible/some-model' });

  test('that limits or fails for a moment is asked again', async () => {
    upstream.respondWith([
      { type: 'status', status: 429, headers: { 'retry-after': '0' } },
      { type: 'status', status: 503 },
      { type: 'embeddings' },
    ]);
    assert.equal((await ask()).status, 200);
  });

  test('that asks for a long pause passes it on', async () => {
    upstream.respondWith({ type: 'status', status: 429, headers: { 'retry-after': '120' } });
    const { status, body, headers } = await ask();
    assert.deepEqual([status, body.error.code, headers.get('retry-after')], [503, 'embedding_unavailable', '120']);
  });

  const vector = [1, 2, 3];
  const failures = {
    'that refuses the key': { type: 'status', status: 401, body: { error: { message: `Incorrect API key: ${KEY}` } } },
    'that has no such model': { type: 'status', status: 404, body: { error: { message: 'model not found' } } },
    'that goes on failing': { type: 'status', status: 500 },
    'that is silent': { type: 'hang_before_headers' },
    'that speaks something else': { type: 'garbage', contentType: 'text/html', text: '<html>' },
    'that speaks other JSON': { type: 'garbage', contentType: 'application/json', text: '{"ok":true}' },
    'that answers with too few vectors': { type: 'embeddings', vectors: [vector] },
    'that answers with too many vectors': { type: 'embeddings', vectors: [vector, vector, vector] },
    'that answers with vectors of different lengths': { type: 'embeddings', vectors: [vector, [1]] },
    'that answers with empty vectors': { type: 'embeddings', vectors: [[], []] },
    'that answers with zeros': { type: 'embeddings', vectors: [vector, [0, 0, 0]] },
    'that answers with no numbers': { type: 'embeddings', vectors: [vector, [1, null, 'x']] },
  } as const;
  for (const [name, behaviour] of Object.entries(failures)) {
    test(`${name} is embedding_unavailable, and no key is shown`, async () => {
      upstream.respondWith(behaviour);
      const project = await projectWithKey();
      const server = name === 'that is silent' ? createClient(impatient.url, project.token) : project;
      const { status, body, text } = await create(server, { input: ['x', 'y'], model: 'openai-compatible/some-model' });
      assert.deepEqual([status, body.error.code], [503, 'embedding_unavailable'], text);
      assert.match(body.error.message, /some-model/);
      assert.doesNotMatch(text, new RegExp(KEY));
    });
  }

  test('for which a text is too long is told apart', async () => {
    upstream.respondWith({ type: 'context_length_exceeded' });
    const { status, body } = await ask();
    assert.deepEqual([status, body.error.code, body.error.param], [422, 'invalid_input', 'input']);
  });

  test('that does not count gets an estimate', async () => {
    upstream.respondWith({ type: 'embeddings', tokens: null });
    const { body } = await ask(['Hello there', 'Hello']);
    assert.equal(body.usage.total_tokens, 3);
  });

  test('is asked in pieces, and the vectors come in order', async () => {
    const project = await projectWithKey();
    const input = Array.from({ length: 600 }, (_, index) => `text ${index}`);
    const before = upstream.requests.length;
    const whole = await create(project, { input, model: 'openai-compatible/m' });
    assert.equal(upstream.requests.length, before + 3);
    const single = await create(project, { input: 'text 599', model: 'openai-compatible/m' });
    assert.deepEqual(whole.body.data[599].embedding, single.body.data[0].embedding);
    assert.deepEqual(whole.body.usage, { prompt_tokens: 3000, total_tokens: 3000 });
  });

  test('is let go when the caller goes', async () => {
    upstream.respondWith({ type: 'hang_before_headers' });
    const project = await projectWithKey();
    const leaving = new AbortController();
    const count = upstream.requests.length;
    const asked = project.open(
      'POST',
      '/v1/embeddings',
      { input: 'x', model: 'openai-compatible/m' },
      {},
      leaving.signal,
    );
    await upstream.waitForRequests(count + 1);
    leaving.abort();
    await assert.rejects(asked);
    assert.equal(await upstream.requests[count]?.closed, 'client');
  });
});

describe('a smith token', () => {
  test('needs the scope', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const refused = await create(project.as(await project.smithToken(smithId, ['files:write'])), { input: 'x' });
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_scope']);
    const taken = await create(project.as(await project.smithToken(smithId, ['embeddings:write'])), { input: 'x' });
    assert.equal(taken.status, 200);
  });

  test('uses the smith’s own key before the tenant’s, which must have a public address', async () => {
    const project = await projectWithKey();
    const smithId = await project.createSmith();
    const smith = project.as(await project.smithToken(smithId, ['embeddings:write']));
    const body = { input: 'x', model: 'openai-compatible/m' };
    assert.equal((await create(smith, body)).status, 200);
    // An address that was public when it was saved, and resolves to this machine now.
    await platform.db.query({
      text: `insert into model_keys (project_id, smith_id, provider, sealed_api_key, base_url)
             select project_id, $2, provider, $4, base_url from model_keys where project_id = $1 and provider = $3`,
      values: [
        project.projectId,
        smithId,
        'openai-compatible',
        platform.vault.seal('sk-own', `model_keys/${project.projectId}/${smithId}/openai-compatible`),
      ],
    });
    const before = upstream.requests.length;
    const refused = await create(smith, body);
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'embedding_unavailable'], refused.text);
    assert.equal(upstream.requests.length, before);
    assert.equal((await create(project, body)).status, 200);
  });
});
