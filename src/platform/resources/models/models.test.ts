import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

interface Listed {
  readonly id: string;
}

const idsOf = (body: { data: Listed[] }) => body.data.map((model) => model.id);

function providersOf(body: { data: Listed[] }): string[] {
  return [...new Set(idsOf(body).map((id) => id.slice(0, id.indexOf('/'))))];
}

test('without a key the built-in model is all there is', async () => {
  const project = await platform.createProject();
  const models = await project.get('/v1/models');
  assert.equal(models.status, 200);
  assert.deepEqual(models.body, {
    object: 'list',
    data: [{ id: 'builtin/demo', object: 'model', created: 1_767_225_600, owned_by: 'builtin' }],
  });
  const runnable = await project.get('/v1/tenant/models');
  assert.deepEqual(runnable.body, {
    data: [
      {
        id: 'builtin/demo',
        provider: 'builtin',
        display_name: 'Built-in demo model (offline, no key)',
        context_window: 8192,
        max_output_tokens: null,
        pricing: { input_per_million: 0, cached_input_per_million: 0, output_per_million: 0 },
        runnable: true,
      },
    ],
  });
});

test('a tenant’s key brings the models of its provider, with their prices', async () => {
  const [project, stranger] = [await platform.createProject(), await platform.createProject()];
  await project.put('/v1/tenant/model_keys/openai', { api_key: 'sk-x' });
  const runnable = await project.get('/v1/tenant/models');
  assert.deepEqual(providersOf(runnable.body), ['builtin', 'openai']);
  const mini = runnable.body.data.find((model: Listed) => model.id === 'openai/gpt-4o-mini');
  assert.deepEqual(mini, {
    id: 'openai/gpt-4o-mini',
    provider: 'openai',
    display_name: mini.display_name,
    context_window: 128_000,
    max_output_tokens: null,
    pricing: { input_per_million: 0.15, cached_input_per_million: 0.075, output_per_million: 0.6 },
    runnable: true,
  });
  assert.deepEqual(idsOf((await project.get('/v1/models')).body), idsOf(runnable.body));
  // The second time the prices are remembered.
  assert.equal((await project.get('/v1/tenant/models')).text, runnable.text);
  assert.deepEqual(idsOf((await stranger.get('/v1/models')).body), ['builtin/demo']);
});

test('a smith sees the models of its own keys as well, and no other smith’s', async () => {
  const project = await platform.createProject();
  const [mine, other] = [await project.createSmith(), await project.createSmith()];
  await project.put('/v1/tenant/model_keys/openai', { api_key: 'sk-x' });
  await project.put(`/v1/smiths/${mine}/model_keys/xai`, { api_key: 'sk-x' });
  await project.put(`/v1/smiths/${other}/model_keys/mistral`, { api_key: 'sk-x' });
  const smith = project.as(await project.smithToken(mine, ['runs:read']));

  assert.deepEqual(providersOf((await smith.get('/v1/models')).body), ['builtin', 'openai', 'xai']);
  assert.deepEqual(providersOf((await project.get('/v1/models')).body), ['builtin', 'openai']);
  assert.equal((await smith.get('/v1/models/xai/grok-4')).status, 200);
  assert.equal((await project.get('/v1/models/xai/grok-4')).status, 404);
  assert.equal((await smith.get('/v1/tenant/models')).body.error.code, 'tenant_token_required');
});

test('a model is found by its id with the slash encoded or not, and by its bare name', async () => {
  const project = await platform.createProject();
  await project.put('/v1/tenant/model_keys/openrouter', { api_key: 'sk-x' });
  await project.put('/v1/tenant/model_keys/openai', { api_key: 'sk-x' });
  const mini = { object: 'model', owned_by: 'openai', id: 'openai/gpt-4o-mini' };
  for (const path of ['openai/gpt-4o-mini', 'openai%2Fgpt-4o-mini', 'gpt-4o-mini']) {
    const { status, body } = await project.get(`/v1/models/${path}`);
    assert.equal(status, 200);
    const { created, ...rest } = body;
    assert.deepEqual(rest, mini);
    assert.ok(Number.isInteger(created));
  }
  for (const path of ['openrouter/openai/gpt-4o', 'openrouter%2Fopenai%2Fgpt-4o', 'openrouter%2Fopenai/gpt-4o']) {
    assert.equal((await project.get(`/v1/models/${path}`)).body.id, 'openrouter/openai/gpt-4o');
  }
  assert.equal((await project.get('/v1/models/builtin/demo')).body.id, 'builtin/demo');
});

test('a model that the catalogue lacks is found where its provider has a key, as a run would take it', async () => {
  const project = await platform.createProject();
  assert.equal((await project.get('/v1/models/ollama/llama3.2:3b')).status, 404);
  await project.put('/v1/tenant/model_keys/ollama', { api_key: 'none' });
  const { body } = await project.get('/v1/models/ollama/llama3.2:3b');
  assert.deepEqual([body.id, body.owned_by], ['ollama/llama3.2:3b', 'ollama']);
});

test('what no run would take is not found', async () => {
  const project = await platform.createProject();
  for (const path of [
    'openai/gpt-4o',
    'openai%2Fgpt-4o',
    'builtin/other',
    'nowhere/model',
    'no-such-model',
    'openai/',
    '',
    '/',
    'a%00b',
    '%00/b',
    `openai/${'x'.repeat(300)}`,
    `${'x'.repeat(600)}`,
  ]) {
    const { status, body } = await project.get(`/v1/models/${path}`);
    assert.deepEqual([status, body.error.code], [404, 'not_found'], path);
  }
});

test('the wildcard beside the route takes a token and a scope like the route itself, and is not documented', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const narrow = project.as(await project.smithToken(smithId, ['files:read']));
  for (const path of ['builtin/demo', 'builtin%2Fdemo']) {
    assert.equal((await project.as('').get(`/v1/models/${path}`)).status, 401);
    const refused = await narrow.get(`/v1/models/${path}`);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_scope']);
  }
  const { body } = await project.get('/openapi.json');
  const paths = Object.keys(body.paths).filter((path) => path.startsWith('/v1/models'));
  assert.deepEqual(paths, ['/v1/models', '/v1/models/{model}']);
  assert.equal(body.paths['/v1/models/{model}'].get.operationId, 'models.get');
});
