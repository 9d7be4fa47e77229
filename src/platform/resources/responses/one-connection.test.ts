/** Chat completions and responses on one connection: what one of them prepared there must not stand in the other's way. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';

// The embedded store has one connection; of a server's store, each request takes whichever is free.
const platform = await startPlatform({});
after(() => platform.close());

test('results of a completion that come again with their key, and a response that paused twice', async () => {
  const project = await platform.createProject();
  const headers = { 'ic-smith-id': await project.createSmith() };
  const parameters = { type: 'object', properties: {} };
  const chatTools = [{ type: 'function', function: { name: 'look_up', parameters } }];
  const question = { role: 'user', content: 'Call the tool look_up with {}' };
  const first = await project.post('/v1/chat/completions', { messages: [question], tools: chatTools }, headers);
  const { message } = first.body.choices[0];
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'Found.' };
  const bring = () =>
    project.post(
      '/v1/chat/completions',
      { messages: [question, message, result], tools: chatTools },
      { ...headers, 'idempotency-key': 'results' },
    );
  const answered = await bring();
  assert.equal(answered.status, 200, answered.text);
  const again = await bring();
  assert.deepEqual([again.status, again.body], [200, answered.body]);

  const tools = [{ type: 'function', name: 'look_up', parameters }];
  const input = 'Call the tool look_up with {}. Call the tool look_up with {"page":2}.';
  const paused = await project.post('/v1/responses', { input, tools }, headers);
  assert.equal(paused.status, 200, paused.text);
  const [one, two] = paused.body.output;
  const partly = await project.post(`/v1/smiths/${headers['ic-smith-id']}/runs/${runOf(paused.body.id)}/submit`, {
    kind: 'tool_result',
    tool_call_id: one.call_id,
    result: { found: 1 },
  });
  assert.equal(partly.body.status, 'paused', partly.text);
  const whole = await project.post(
    '/v1/responses',
    {
      previous_response_id: `${paused.body.id}_2`,
      input: [{ type: 'function_call_output', call_id: two.call_id, output: 'Found.' }],
    },
    headers,
  );
  assert.deepEqual([whole.status, whole.body.status], [200, 'completed'], whole.text);
  for (const { id } of [paused.body, whole.body]) {
    const got = await project.get(`/v1/responses/${id}`);
    assert.deepEqual([got.status, got.body.id], [200, id], got.text);
  }
});

/** The run behind a response's id. */
function runOf(responseId: string): string {
  return responseId.replace(/^resp_/, 'run_');
}
