import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { clientTool, FAKE_MODEL, makeUpstreamSmith, sentBody, sentTexts } from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

/** `runs.config` as runs were stored before their settings nested. */
const FLAT = {
  overrides: { instructions: 'In French.' },
  model: FAKE_MODEL,
  instructions: 'Be brief.\n\nIn French.',
  hosted_tools: [],
  tools: [clientTool('weather')],
  tool_choice: 'auto',
  response_format: { type: 'json' },
  reasoning_effort: null,
  max_output_tokens: 9,
  temperature: 0.5,
  top_p: 0.25,
  stop: ['END'],
};

async function storeFlat(runId: string): Promise<void> {
  const { rowCount } = await platform.db.query({
    text: 'update runs set config = $2 where id = $1',
    values: [runId, JSON.stringify(FLAT)],
  });
  assert.equal(rowCount, 1);
}

const CALL = { type: 'answer', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] } as const;
const ANSWER = { type: 'answer', deltas: ['{"sky":"grey"}'] } as const;

function assertSettings(): void {
  const { max_tokens, max_completion_tokens, temperature, top_p, stop, response_format, tools } = sentBody(upstream);
  assert.deepEqual(
    [max_completion_tokens ?? max_tokens, temperature, top_p, stop, response_format.type, tools.length],
    [9, 0.5, 0.25, ['END'], 'json_object', 1],
  );
}

test('a run of the flat shape goes on after a pause, and is replayed, with the settings that it was started with', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { instructions: 'Be brief.' });
  upstream.respondWith([CALL, ANSWER, ANSWER]);
  const { body: paused } = await smith.ask('How is the sky?', { tools: [clientTool('weather')] });
  assert.equal(paused.status, 'paused');
  await storeFlat(paused.id);
  const result = { kind: 'tool_result', tool_call_id: paused.output.tool_calls[0].id, result: { sky: 'grey' } };
  const { body } = await smith.submit(paused.id, result);
  assert.deepEqual([body.status, body.output.content_type], ['completed', 'application/json'], JSON.stringify(body));
  assertSettings();

  const replayed = await smith.project.post(`${smith.runs}/${paused.id}/replay`);
  assert.deepEqual([replayed.status, replayed.body.status], [201, 'completed'], replayed.text);
  assertSettings();
  assert.ok(sentTexts(upstream).includes('system: Be brief.\n\nIn French.'), `${sentTexts(upstream)}`);
});

test('a response of the flat shape is retrieved as before', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([ANSWER]);
  const { body: created, text } = await smith.project.post(
    '/v1/responses',
    { input: 'Sky?', text: { format: { type: 'json_object' } } },
    { 'ic-smith-id': smith.id },
  );
  assert.equal(created.status, 'completed', text);
  await storeFlat(created.id.replace(/^resp_/, 'run_'));
  const { status, body } = await smith.project.get(`/v1/responses/${created.id}`);
  assert.deepEqual([status, body], [200, { ...created, model: FLAT.model }]);
});
