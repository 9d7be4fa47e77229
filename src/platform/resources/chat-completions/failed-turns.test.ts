/** Failures of turns, as OpenAI's client meets them that repeats requests by itself: none is carried out again. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { type OpenAiBehaviour, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { readEvents } from '../../../../test/support/agents.ts';
import { noteStatements } from '../../../../test/support/noted-database.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, makeUpstreamSmith, type TestSmith } from '../../../../test/support/turns.ts';
import { StoreUnavailableError } from '../../../kernel/db/sql-errors.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(async () => {
  await platform.close();
  await upstream.close();
});

const ECHO: OpenAiBehaviour = { type: 'answer', toolCalls: [{ name: 'echo', arguments: '{}' }] };
const REFUSAL: OpenAiBehaviour = { type: 'status', status: 400 };
const NO_JSON: OpenAiBehaviour = { type: 'answer', deltas: ['Never mind.'] };
const DONE: OpenAiBehaviour = { type: 'answer', deltas: ['Done.'] };
const SLOW: OpenAiBehaviour = { type: 'answer', deltas: ['Here', ' you are.'], firstDelayMs: 60_000 };

const request = { model: 'default', messages: [{ role: 'user' as const, content: 'Hello' }] };
const format = { type: 'json_schema' as const, json_schema: { name: 'answer', schema: { type: 'object' } } };

/** The client as it comes: it repeats a request twice. */
async function openClient({ url }: Pick<TestPlatform, 'url'>, { project, id }: TestSmith): Promise<OpenAI> {
  const apiKey = await project.smithToken(id, ['runs:read', 'runs:write']);
  return new OpenAI({ apiKey, baseURL: `${url}/v1` });
}

async function listRuns({ project, runs }: TestSmith): Promise<{ id: string; status: string }[]> {
  return (await project.get(runs)).body.data;
}

function isError(status: number, code: string) {
  return (error: unknown) => {
    assert.ok(error instanceof OpenAI.APIError, String(error));
    assert.deepEqual([error.status, error.code], [status, code]);
    return true;
  };
}

for (const [code, more, ending] of [
  ['model_request_failed', {}, [REFUSAL]],
  ['structured_output_failed', { response_format: format }, [NO_JSON, NO_JSON]],
] as const) {
  test(`a completion that ends with ${code} is one turn, and its tools run once`, async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    const openai = await openClient(platform, smith);
    upstream.respondWith([1, 2, 3].flatMap(() => [ECHO, ...ending]));
    await assert.rejects(openai.chat.completions.create({ ...request, ...more }), isError(502, code));
    assert.equal((await listRuns(smith)).length, 1);
    assert.equal((await readEvents(smith.project, 'tool.executing')).length, 1);
  });
}

test('a completion whose server goes away is repeated only with a key, which brings the answer of its turn', async (t) => {
  const smith = await makeUpstreamSmith(platform, upstream);
  for (const key of [undefined, 'k1']) {
    const first = await startPlatform({ toolSources: [tools.source], sharing: platform });
    t.after(() => first.close());
    upstream.respondWith(SLOW);
    const before = (await listRuns(smith)).length;
    const body = JSON.stringify(request);
    const answering = fetch(`${first.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${smith.project.token}`,
        'content-type': 'application/json',
        'ic-smith-id': smith.id,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body,
    });
    const run = await eventually(async () => {
      const runs = await listRuns(smith);
      return runs.length > before ? runs[0] : undefined;
    }, 'the turn begins');
    await first.platform.drain(0);
    const answer = await answering;
    const { error } = (await answer.json()) as { error: { code: string } };
    assert.deepEqual([answer.status, error.code], [503, 'service_overloaded']);
    assert.equal(answer.headers.get('x-should-retry'), key === undefined ? 'false' : null);
    assert.equal(answer.headers.get('ic-run-id'), run?.id);
    await smith.cancel(run?.id ?? '');
  }
});

/** Another server on the database, whose statements fail that match, as many as there are `failures`. */
async function startOnFailingStore(failing: RegExp, failures: number): Promise<TestPlatform> {
  let left = failures;
  const { db } = noteStatements(platform.db, ({ text }) => {
    if (left === 0 || !failing.test(text)) return;
    left -= 1;
    return Promise.reject(new StoreUnavailableError('the connection was lost'));
  });
  return startPlatform({ toolSources: [tools.source], sharing: { ...platform, db } });
}

test('a response whose turn has begun when the store fails is not asked for again', async (t) => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const failing = await startOnFailingStore(/from run_events/, 1);
  t.after(() => failing.close());
  const openai = await openClient(failing, smith);
  upstream.respondWith([1, 2].flatMap(() => [ECHO, DONE]));
  const asked = openai.responses.create({ model: 'default', input: 'Hello' });
  await assert.rejects(asked, isError(503, 'storage_unavailable'));
  assert.equal((await listRuns(smith)).length, 1);
  assert.equal((await readEvents(smith.project, 'tool.executing')).length, 1);
});

test('a completion that the store refused before its turn began is asked for again', async (t) => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const failing = await startOnFailingStore(/insert into runs/, 1);
  t.after(() => failing.close());
  const openai = await openClient(failing, smith);
  upstream.respondWith(DONE);
  const answer = await openai.chat.completions.create(request);
  assert.equal(answer.choices[0]?.message.content, 'Done.');
  assert.equal((await listRuns(smith)).length, 1);
});
