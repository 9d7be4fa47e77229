import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { makeSmith, makeUpstreamSmith, sentBody, sentTexts } from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' }, minItems: 1 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const asTrip = { response_format: { type: 'json_schema', json_schema: { name: 'trip', schema } } };

function says(value: unknown) {
  return { type: 'answer', deltas: [JSON.stringify(value)] } as const;
}

test('an answer to a schema is an instance of it', async () => {
  const smith = await makeSmith(platform);
  for (const format of [asTrip.response_format, { type: 'json_schema', name: 'trip', schema }]) {
    const { body } = await smith.ask('Plan a trip', { response_format: format });
    assert.deepEqual([body.status, body.output.content_type, body.warnings], ['completed', 'application/json', []]);
    const trip = JSON.parse(body.output.content);
    assert.equal(typeof trip.city, 'string');
    assert.ok(trip.days.every(Number.isInteger) && trip.days.length > 0);
  }
  const { body } = await smith.ask('Anything', { response_format: { type: 'json_object' } });
  assert.equal(typeof JSON.parse(body.output.content), 'object');
});

test('the schema reaches the upstream by its name', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith(says({ city: 'Rome', days: [1] }));
  const { body } = await smith.ask('Plan a trip', asTrip);
  assert.equal(body.output.content, '{"city":"Rome","days":[1]}');
  const { response_format: sent } = sentBody(upstream);
  assert.deepEqual([sent.type, sent.json_schema.name, sent.json_schema.schema], ['json_schema', 'trip', schema]);
});

test('an answer that does not match is asked for once more, and the model is told why', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const before = upstream.requests.length;
  upstream.respondWith([says({ city: 'Rome' }), says({ city: 'Rome', days: [2] })]);
  const { body } = await smith.ask('Plan a trip', { ...asTrip, thread_id: 'main' });
  assert.deepEqual([body.status, body.output.content], ['completed', '{"city":"Rome","days":[2]}']);
  assert.deepEqual(
    body.warnings.map(({ code }: { code: string }) => code),
    ['structured_output_retried'],
  );
  assert.equal(upstream.requests.length - before, 2);
  const [, first, demand] = sentTexts(upstream);
  assert.equal(first, 'assistant: {"city":"Rome"}');
  assert.match(demand ?? '', /^user: .*'days'.*Answer again/);
});

const useless: [name: string, answer: string, reason: RegExp][] = [
  ['is no JSON', 'Rome it is', /not JSON/],
  ['is of another shape', '{"city":5,"days":[]}', /city/],
  ['is empty', '', /not JSON/],
];
for (const [name, text, reason] of useless) {
  test(`a second answer that ${name} fails the run`, async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    const before = upstream.requests.length;
    upstream.respondWith({
      type: 'answer',
      deltas: [text],
      usage: { promptTokens: 10, completionTokens: 3 },
    });
    const { body } = await smith.ask('Plan a trip', asTrip);
    assert.deepEqual([body.status, body.error.code], ['failed', 'structured_output_failed']);
    assert.match(body.error.message, reason);
    assert.equal(body.output.content, text);
    assert.equal(upstream.requests.length - before, 2);
    // Both answers are paid for.
    assert.deepEqual([body.usage.input_tokens, body.usage.output_tokens], [20, 6]);
  });
}

test('schemas as the common libraries write them are taken', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const schemas = [
    { $schema: 'http://json-schema.org/draft-07/schema#', ...schema },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema },
    {
      type: 'object',
      properties: { city: { $ref: '#/definitions/Name' }, days: { $ref: '#/$defs/Days' } },
      definitions: { Name: { type: 'string', format: 'city-name' } },
      $defs: { Days: { type: 'array', items: { type: 'integer' } } },
    },
    { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] },
  ];
  for (const each of schemas) {
    upstream.respondWith(says(each.type === 'array' ? ['Rome'] : { city: 'Rome', days: [1] }));
    const answer = await smith.ask('Plan a trip', {
      response_format: { type: 'json_schema', json_schema: { schema: each } },
    });
    assert.deepEqual([answer.status, answer.body.status], [201, 'completed'], answer.text);
  }
});

test('a refusal is no instance and is not asked for again', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const before = upstream.requests.length;
  upstream.respondWith({ type: 'answer', deltas: ['I will not'], finishReason: 'content_filter' });
  const { body } = await smith.ask('Plan a trip', asTrip);
  assert.deepEqual(
    [body.status, body.stop_reason, upstream.requests.length - before],
    ['completed', 'content_filter', 1],
  );
});
