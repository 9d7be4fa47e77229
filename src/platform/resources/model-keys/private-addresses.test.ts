/** Nothing that a caller may name makes the server call its own machine, and no answer from there is passed on. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import {
  assertNothingQuoted,
  INPUT,
  PROVIDERS,
  SECRET,
  STRANGERS,
  serve,
} from '../../../../test/support/loopback-strangers.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createLogger } from '../../../kernel/log/log.ts';

const TENANT = '/v1/tenant/model_keys';

const logged: string[] = [];
const logger = createLogger({ logLevel: 'info' }, { write: (line) => void logged.push(line) });
/** As an operator starts it who has set nothing. */
const closed = await startPlatform({ limits: { modelPrivateAddresses: 'deny' }, logger });
after(() => closed.close());

const fileEnd = { after };
const upstream = await startOpenAiUpstream();
after(() => upstream.close());
const inner = await serve(fileEnd, (_request, response) => response.end(SECRET));
const REDIRECTS = [301, 302, 303, 307, 308];
const redirectors = await Promise.all(
  REDIRECTS.map((status) =>
    serve(fileEnd, (_request, response) => response.writeHead(status, { location: `${inner.url}/admin` }).end()),
  ),
);
const strangers = await Promise.all(STRANGERS.map(([, listener]) => serve(fileEnd, listener)));
/** The operator has opened each of these services, and what they redirect to. */
const opened = await startPlatform({
  limits: { modelPrivateAddresses: 'deny' },
  outboundAllow: [upstream, inner, ...redirectors, ...strangers].map(({ url }) => new URL(url).host),
  logger,
  sharing: closed,
});
after(() => opened.close());

test('a base URL on loopback is refused, by tenant and smith, saying what the operator sets', async () => {
  const project = await closed.createProject();
  const smithId = await project.createSmith();
  const token = await project.smithToken(smithId, ['model_keys:write']);
  const body = { api_key: 'none', base_url: 'http://127.0.0.1:11434/v1' };
  for (const refused of [
    await project.put(`${TENANT}/ollama`, body),
    await project.as(token).put(`/v1/smiths/${smithId}/model_keys/ollama`, body),
  ]) {
    assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_url'], refused.text);
    assert.match(refused.body.error.message, /IRONCRAFT_OUTBOUND_ALLOW=127\.0\.0\.1:11434/);
  }
});

test('a smith token that names a model of this machine calls no local port, in runs and embeddings', async (t) => {
  const local = await startLocalVllm(t);
  const project = await closed.createProject();
  const smithId = await project.createSmith();
  const smith = project.as(await project.smithToken(smithId, ['runs:write']));
  const { body } = await smith.post(`/v1/smiths/${smithId}/runs`, { ...INPUT, model: 'vllm/x' });
  assert.deepEqual([body.status, body.error?.code], ['failed', 'model_request_failed']);
  assert.match(body.error.message, /could not be made: .*IRONCRAFT_OUTBOUND_ALLOW=127\.0\.0\.1:8000\.$/);
  const embedded = await project.post('/v1/embeddings', { input: 'x', model: 'vllm/x' });
  assert.deepEqual([embedded.status, embedded.body.error.code], [503, 'embedding_unavailable']);
  assert.match(embedded.body.error.message, /IRONCRAFT_OUTBOUND_ALLOW=127\.0\.0\.1:8000/);
  assert.equal(embedded.headers.get('x-should-retry'), 'false');
  assert.deepEqual(local?.seen ?? [], []);
});

test('nor does it where tenants may use private addresses', async (t) => {
  const local = await startLocalVllm(t);
  const open = await startPlatform({ limits: { modelPrivateAddresses: 'allow' }, sharing: closed });
  t.after(() => open.close());
  const project = await open.createProject();
  const smithId = await project.createSmith();
  const smith = project.as(await project.smithToken(smithId, ['runs:write']));
  const { body } = await smith.post(`/v1/smiths/${smithId}/runs`, { ...INPUT, model: 'vllm/x' });
  assert.match(body.error.message, /could not be made/);
  assert.deepEqual(local?.seen ?? [], []);
});

/** At the usual address of vLLM; where another program of this machine has it, that one stays uncalled unseen. */
async function startLocalVllm(t: TestContext) {
  const listener: RequestListener = (_request, response) => response.end(SECRET);
  return serve(t, listener, 8000).catch(() => undefined);
}

test('what the operator opens is reached, by a run and by embeddings', async () => {
  const project = await opened.createProject();
  const key = { api_key: 'none', base_url: upstream.url };
  assert.equal((await project.put(`${TENANT}/vllm`, key)).status, 200);
  const smithId = await project.createSmith({ model: 'vllm/small' });
  const run = await project.post(`/v1/smiths/${smithId}/runs`, INPUT);
  assert.deepEqual([run.body.status, run.body.output?.content], ['completed', 'Hello there.'], run.text);
  upstream.respondWith({ type: 'embeddings' });
  assert.equal((await project.post('/v1/embeddings', { input: 'x', model: 'vllm/small' })).status, 200);
});

test('a redirect of a model server is an error and is not followed, even where both are opened', async () => {
  for (const [index, status] of REDIRECTS.entries()) {
    const outer = redirectors[index] ?? assert.fail();
    const project = await opened.createProject();
    const key = { api_key: 'none', base_url: `${outer.url}/v1` };
    assert.equal((await project.put(`${TENANT}/openai-compatible`, key)).status, 200);
    const smithId = await project.createSmith({ model: 'openai-compatible/x' });
    const { body } = await project.post(`/v1/smiths/${smithId}/runs`, INPUT);
    assert.match(body.error.message, new RegExp(`redirect \\(status ${status}\\)`));
    assert.equal(outer.seen.length, 1);
  }
  assert.deepEqual(inner.seen, []);
});

for (const [index, [what]] of STRANGERS.entries()) {
  test(`nothing is quoted of a service that ${what}: in the run, the events, an embedding and the log`, async () => {
    // Each provider meets one of them; the soak has every provider meet each.
    await assertNothingQuoted(opened, strangers[index], [PROVIDERS[index % PROVIDERS.length] ?? assert.fail()]);
    assert.doesNotMatch(logged.join(''), /of-the-loopback/);
  });
}
