import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

// The operator's allow list stands in for a public address, which a smith's own key must have.
const smithUpstream = await startOpenAiUpstream();
const tenantUpstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await smithUpstream.close();
  await tenantUpstream.close();
});

function run(project: TestProject, smithId: string) {
  return project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: 'Hello' }] });
}

function lastKey(upstream: OpenAiUpstream): string | undefined {
  return upstream.requests.at(-1)?.headers.authorization;
}

test('a run calls the tenant’s address with the tenant’s key, and a smith’s own takes its place', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith({ model: 'openai-compatible/small' });
  const missing = await run(project, smithId);
  assert.deepEqual([missing.status, missing.body.error.code], [422, 'model_key_missing']);

  await project.put('/v1/tenant/model_keys/openai-compatible', { api_key: 'sk-tenant', base_url: tenantUpstream.url });
  const first = await run(project, smithId);
  assert.equal(first.body.status, 'completed', first.text);
  assert.equal(first.body.output.content, 'Hello there.');
  assert.equal(lastKey(tenantUpstream), 'Bearer sk-tenant');
  assert.equal(smithUpstream.requests.length, 0);

  const path = `/v1/smiths/${smithId}/model_keys/openai-compatible`;
  const own = await project.put(path, { api_key: 'sk-own', base_url: smithUpstream.url });
  assert.equal(own.status, 200, own.text);
  assert.equal((await run(project, smithId)).body.status, 'completed');
  assert.equal(lastKey(smithUpstream), 'Bearer sk-own');
  assert.equal(tenantUpstream.requests.length, 1);

  // Another smith of the tenant has nothing of it.
  const other = await project.createSmith({ model: 'openai-compatible/small' });
  assert.equal((await run(project, other)).body.status, 'completed');
  assert.equal(tenantUpstream.requests.length, 2);

  await project.delete(path);
  await run(project, smithId);
  assert.equal(tenantUpstream.requests.length, 3);
  await project.delete('/v1/tenant/model_keys/openai-compatible');
  assert.equal((await run(project, smithId)).body.error.code, 'model_key_missing');
});

test('a key’s workspace goes along with the call', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith({ model: 'openai/gpt-4o' });
  await project.put('/v1/tenant/model_keys/openai', {
    api_key: ' sk-tenant\n',
    base_url: tenantUpstream.url,
    workspace_id: 'proj_42',
  });
  assert.equal((await run(project, smithId)).body.status, 'completed');
  assert.equal(tenantUpstream.requests.at(-1)?.headers['openai-project'], 'proj_42');
  assert.equal(lastKey(tenantUpstream), 'Bearer sk-tenant');
});

test('a run whose upstream does not answer fails with model_request_failed, and the key is in none of it', async () => {
  const gone = await startOpenAiUpstream();
  await gone.close();
  const project = await platform.createProject();
  const smithId = await project.createSmith({ model: 'openai-compatible/small' });
  await project.put('/v1/tenant/model_keys/openai-compatible', { api_key: 'sk-tenant', base_url: gone.url });

  const failed = await run(project, smithId);
  assert.deepEqual([failed.body.status, failed.body.error.code], ['failed', 'model_request_failed'], failed.text);
  const events = await project.get('/v1/events?type=run.failed');
  assert.equal(events.body.data[0].data.error.code, 'model_request_failed');
  assert.ok(![failed.text, events.text].some((text) => text.includes('sk-tenant')));
});
