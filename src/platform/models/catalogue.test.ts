import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kernel/http/errors.ts';
import {
  DEFAULT_CONTEXT_WINDOW,
  findModel,
  isKnownProvider,
  listModels,
  listProviders,
  parseModelId,
  priceUsage,
  providerInfo,
} from './index.ts';

function refusal(code: string, param?: string) {
  return (error: unknown) =>
    error instanceof ApiError && error.code === code && (param === undefined || error.detail.param === param);
}

test('every listed model is of a known provider, has a window, and is found by its id', () => {
  const models = listModels();
  assert.equal(models[0]?.id, 'builtin/demo');
  assert.equal(models[0]?.contextWindow, 8192);
  assert.equal(new Set(models.map((model) => model.id)).size, models.length);
  for (const model of models) {
    assert.ok(isKnownProvider(model.provider));
    assert.equal(model.id, `${model.provider}/${model.model}`);
    assert.ok(Number.isInteger(model.contextWindow) && model.contextWindow >= 1024, model.id);
    assert.ok(Number.isInteger(model.created) && model.created > 1_500_000_000, model.id);
    assert.deepEqual(findModel(model.id), model);
    assert.deepEqual(parseModelId(model.id), { provider: model.provider, model: model.model });
  }
});

test('the common models of each hosted provider are listed, and no embedding or image models', () => {
  const ids = listModels().map((model) => model.id);
  for (const id of ['openai/gpt-4o', 'anthropic/claude-haiku-4-5', 'google/gemini-2.5-flash', 'xai/grok-3'])
    assert.ok(ids.includes(id), id);
  for (const provider of ['bedrock', 'mistral', 'deepseek', 'openrouter'])
    assert.ok(
      ids.some((id) => id.startsWith(`${provider}/`)),
      provider,
    );
  assert.deepEqual(
    ids.filter((id) => /embed|whisper|dall|tts/.test(id)),
    [],
  );
});

test('nearly every listed model has a price: only some that their providers give away have none', () => {
  const models = listModels();
  const unpriced = models.filter((model) => priceUsage(model.id, { inputTokens: 10, outputTokens: 10 }) === null);
  assert.ok(unpriced.length < models.length / 20);
  for (const { id } of unpriced) assert.match(id, /gemma|:free$|lyria/);
});

test('a model that the catalogue lacks is allowed for a known provider, with a window', () => {
  assert.equal(findModel('ollama/llama3.2')?.contextWindow, DEFAULT_CONTEXT_WINDOW);
  assert.equal(findModel('openai/gpt-4.1-2025-04-14')?.contextWindow, 1_000_000);
  assert.equal(findModel('openai/gpt-4.1-2025-04-14')?.created, Date.UTC(2025, 3, 14) / 1000);
  assert.equal(findModel('nobody/x'), undefined);
  assert.equal(findModel('builtin/other'), undefined);
  assert.equal(findModel('gpt-4o'), undefined);
});

test('a model id is read as provider and model, the model keeping its slashes', () => {
  assert.deepEqual(parseModelId('openai/gpt-4o'), { provider: 'openai', model: 'gpt-4o' });
  assert.deepEqual(parseModelId('groq/openai/gpt-oss-120b'), { provider: 'groq', model: 'openai/gpt-oss-120b' });
  assert.deepEqual(parseModelId('ollama/hf.co/a/b:Q4'), { provider: 'ollama', model: 'hf.co/a/b:Q4' });
});

test('a bare name is read where exactly one model bears it', () => {
  assert.deepEqual(parseModelId('gpt-4o'), { provider: 'openai', model: 'gpt-4o' });
  assert.deepEqual(parseModelId('demo'), { provider: 'builtin', model: 'demo' });
  assert.throws(() => parseModelId('no-such-model'), refusal('invalid_request', 'model'));
});

test('an id of an unknown provider, without a model or too long is refused', () => {
  assert.throws(() => parseModelId('nobody/x'), refusal('unknown_provider'));
  assert.throws(() => parseModelId('openai/'), refusal('invalid_request', 'model'));
  assert.throws(() => parseModelId(''), refusal('invalid_request', 'model'));
  assert.throws(() => parseModelId('builtin/other'), refusal('invalid_request', 'model'));
  assert.throws(() => parseModelId(`openai/${'x'.repeat(300)}`), refusal('invalid_request', 'model'));
  assert.throws(() => parseModelId('__proto__/x'), refusal('unknown_provider'));
});

test('providers say what a key needs', () => {
  assert.equal(providerInfo('openai').supportsWorkspaceId, true);
  assert.equal(providerInfo('anthropic').supportsWorkspaceId, false);
  assert.equal(providerInfo('openai-compatible').baseUrlRequired, true);
  assert.equal(providerInfo('ollama').needsKey, false);
  assert.throws(() => providerInfo('nobody'), refusal('unknown_provider'));
  for (const info of listProviders()) {
    if (info.provider !== 'builtin' && info.provider !== 'bedrock')
      assert.equal(info.baseUrlRequired, info.defaultBaseUrl === undefined);
  }
});
