/** What streams carry is what the document says of it: every frame is of the union that its stream is described with. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { startPlatform } from '../support/platform.ts';
import { createWorld } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const { tenant } = world;
const document = (await fetch(`${platform.url}/openapi.json`).then((answer) => answer.json())) as {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  components: { schemas: Record<string, { oneOf?: { $ref: string }[]; discriminator?: { mapping: object } }> };
};
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', ...document });

const ask = (content: string) => [{ role: 'user', content }];
const approved = { tools: [{ name: 'notify', requires_approval: true }] };
const CALL = 'Call the tool notify with {"to": "Ada"}';
const runsPath = `/v1/smiths/${world.smithId}/runs`;

const chatWithPage = (message: string) =>
  tenant.open(
    'POST',
    `/v1/hosted/${world.deploymentId}/chat`,
    { visitor_id: 'ada', message },
    { accept: 'text/event-stream' },
  );

/** By the union: requests whose streams hold its frames. */
const streams: Readonly<Record<string, Readonly<Record<string, () => Promise<Response>>>>> = {
  RunStreamFrame: {
    'a run': () => tenant.open('POST', runsPath, { input: ask('Write 5 words'), stream: true }),
    'a run that thinks': () =>
      tenant.open('POST', runsPath, { input: ask('Write 5 words'), stream: true, reasoning_effort: 'high' }),
    'a run that fails': () => tenant.open('POST', runsPath, { input: ask('Fail with 400'), stream: true }),
    'a run that pauses': () =>
      tenant.open('POST', runsPath, { input: ask(CALL), stream: true, tools: [{ name: 'notify' }] }),
    'a run that waits for approval': () =>
      tenant.open('POST', runsPath, { input: ask(CALL), stream: true, ...approved }),
    'a run that is approved': () =>
      tenant.open('POST', `${runsPath}/${world.pausedRunId}/submit`, {
        kind: 'approval',
        approval_id: world.approvalId,
        decision: 'reject',
        stream: true,
      }),
    'a run that uses a tool of the server': () =>
      tenant.open('POST', runsPath, { input: ask('Call the tool current_time with {}'), stream: true }),
    'a timeline': () => tenant.open('GET', `${runsPath}/${world.runId}/events`),
    'a repeated key': async () => {
      const body = { input: ask('Write 2 words'), stream: true };
      await (await tenant.open('POST', runsPath, body, { 'idempotency-key': 'again' })).text();
      return tenant.open('POST', runsPath, body, { 'idempotency-key': 'again' });
    },
  },
  HostedFrame: {
    'a page’s answer': () => chatWithPage('Write 5 words'),
    'a page’s failure': () => chatWithPage('Fail with 400'),
  },
  ChatCompletionChunk: {
    'a completion with its usage': () =>
      tenant.open('POST', '/v1/chat/completions', {
        user: world.smithUser,
        messages: ask('Write 5 words'),
        stream: true,
        stream_options: { include_usage: true },
      }),
    'a completion that calls': () =>
      tenant.open('POST', '/v1/chat/completions', {
        user: world.smithUser,
        messages: ask(CALL),
        stream: true,
        tools: [{ type: 'function', function: { name: 'notify', parameters: { type: 'object' } } }],
      }),
  },
  ResponseStreamEvent: {
    'a response': () =>
      tenant.open('POST', '/v1/responses', { user: world.smithUser, input: 'Write 5 words', stream: true }),
    'a response that thinks': () =>
      tenant.open('POST', '/v1/responses', {
        user: world.smithUser,
        input: 'Write 5 words',
        stream: true,
        reasoning: { effort: 'high', summary: 'auto' },
      }),
    'a response that calls': () =>
      tenant.open('POST', '/v1/responses', {
        user: world.smithUser,
        input: CALL,
        stream: true,
        tools: [{ type: 'function', name: 'notify', parameters: { type: 'object' }, strict: false }],
      }),
    'a response that searches': () =>
      tenant.open('POST', '/v1/responses', {
        user: world.smithUser,
        input: 'Call the tool file_search with {"query": "river"}',
        stream: true,
        tools: [{ type: 'file_search', vector_store_ids: [world.vectorStoreId] }],
      }),
  },
};

for (const [union, requests] of Object.entries(streams)) {
  describe(`${union} has every frame of`, () => {
    const validate = ajv.compile({ $ref: `document#/components/schemas/${union}` });
    for (const [what, send] of Object.entries(requests)) {
      test(what, async () => {
        const response = await send();
        assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/, String(response.status));
        const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
        const frames = lines.filter((line) => line !== 'data: [DONE]').map((line) => JSON.parse(line.slice(6)));
        assert.ok(frames.length > 0);
        for (const data of frames) {
          assert.ok(validate(data), `${JSON.stringify(data)}: ${ajv.errorsText(validate.errors)}`);
        }
      });
    }
  });
}

test('every stream that is described has a union of its own, which names its members by type', () => {
  const described = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ content }) => content?.['text/event-stream']?.schema ?? []),
    ),
  );
  const names = new Set(described.map((schema) => (schema as { $ref?: string }).$ref?.split('/').at(-1)));
  assert.deepEqual([...names].sort(), Object.keys(streams).sort());
  for (const name of ['RunStreamFrame', 'ResponseStreamEvent']) {
    const { oneOf = [], discriminator } = document.components.schemas[name] ?? {};
    const mapped = Object.values(discriminator?.mapping ?? {});
    assert.deepEqual(
      mapped,
      oneOf.map(({ $ref }) => $ref),
    );
    for (const reference of mapped)
      assert.ok(document.components.schemas[String(reference).split('/').at(-1) ?? ''], reference);
  }
});
