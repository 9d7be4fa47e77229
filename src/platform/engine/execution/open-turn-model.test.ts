import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { schemas } from '../../../../test/support/schemas.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { createVault } from '../../../kernel/vault/vault.ts';
import { callModel, modelKeyContext, type StoredModelKey } from '../../models/index.ts';
import { createModelOpener } from './open-turn-model.ts';

const upstream = await startOpenAiUpstream();
const outbound = createOutbound({ allow: [] });
after(async () => {
  await outbound.close();
  await upstream.close();
});

const vault = createVault([createSecretKey(randomBytes(32))]);
const opener = createModelOpener(vault, outbound, true, schemas);
const MODEL = 'openai-compatible/small';

function keyOf(projectId: string, apiKey: string): StoredModelKey {
  const provider = 'openai-compatible';
  const sealed = vault.seal(apiKey, modelKeyContext(projectId, '', provider));
  return { smith_id: '', provider, sealed_api_key: sealed, base_url: upstream.url, workspace_id: null };
}

/** The key that a call of the model arrives with. */
async function keyUsed(projectId: string, key: StoredModelKey, modelId = MODEL): Promise<string> {
  const model = await opener.open(projectId, modelId, [key]);
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello?' }] }];
  await callModel({ model, options: { prompt } }, () => {});
  return upstream.requests.at(-1)?.headers.authorization ?? '';
}

test('a model is opened once for a key, and again for another model, project or key', async () => {
  const key = keyOf('prj_a', 'sk-one-123456');
  const model = await opener.open('prj_a', MODEL, [key]);
  assert.equal(await opener.open('prj_a', MODEL, [{ ...key }]), model);
  assert.notEqual(await opener.open('prj_a', 'openai-compatible/large', [key]), model);
  assert.notEqual(await opener.open('prj_b', MODEL, [keyOf('prj_b', 'sk-one-123456')]), model);
  assert.equal(await keyUsed('prj_a', key), 'Bearer sk-one-123456');
  assert.equal(await keyUsed('prj_a', keyOf('prj_a', 'sk-two-123456')), 'Bearer sk-two-123456');
});

test('a model that is kept for a key is of no use without it, nor to another project', async () => {
  const key = keyOf('prj_a', 'sk-one-123456');
  await opener.open('prj_a', MODEL, [key]);
  await assert.rejects(opener.open('prj_a', MODEL, []), { code: 'model_key_missing' });
  await assert.rejects(opener.open('prj_b', MODEL, [key]), { code: 'not_authentic' });
});
