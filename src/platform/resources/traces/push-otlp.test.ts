/** OTLP/HTTP in: the stock exporter, both encodings, compression, what is rejected, and hostile bodies. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { SpanKind, SpanStatusCode, trace as traces } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { decodeMessage, encodeMessage } from '../../../../test/fakes/otlp-messages.ts';
import {
  attribute,
  HOSTILE_BODIES,
  id,
  type Json,
  request,
  START,
  span,
} from '../../../../test/support/otlp-bodies.ts';
import { type Client, startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

const PATH = '/v1/otlp/v1/traces';

interface Sent {
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
  readonly headers: Headers;
}

async function send(client: Client, body: Buffer | string, headers: Record<string, string> = {}): Promise<Sent> {
  const response = await fetch(platform.url + PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/x-protobuf', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    bytes: Buffer.from(await response.arrayBuffer()),
    headers: response.headers,
  };
}

/** As JSON has ids: hexadecimal. protobufjs takes bytes. */
function encode(message: Json): Buffer {
  const spans = message.resourceSpans.flatMap(({ scopeSpans }: Json) =>
    scopeSpans.flatMap((scope: Json) => scope.spans),
  );
  for (const one of spans) {
    for (const name of ['traceId', 'spanId', 'parentSpanId'])
      if (name in one) one[name] = Buffer.from(one[name], 'hex');
  }
  return encodeMessage('ExportTraceServiceRequest', message);
}

async function list(project: TestProject): Promise<Json[]> {
  const { body } = await project.get('/v1/traces');
  return Promise.all(body.data.map(async (one: Json) => (await project.get(`/v1/traces/${one.id}`)).body));
}

for (const compression of ['none', 'gzip'] as const) {
  test(`what the stock exporter pushes can be read back, compression ${compression}`, async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'shop', 'ironcraft.smith_id': smithId }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new OTLPTraceExporter({
            url: platform.url + PATH,
            headers: { authorization: `Bearer ${project.token}` },
            compression: compression as never,
          }),
        }),
      ],
    });
    const tracer = provider.getTracer('checkout', '1.2');
    const startedAt = new Date('2026-05-01T12:00:00.123Z');
    const root = tracer.startSpan('invoke_agent shop', { startTime: startedAt, kind: SpanKind.SERVER });
    const context = traces.setSpan((await import('@opentelemetry/api')).ROOT_CONTEXT, root);
    const call = tracer.startSpan(
      'chat gpt-5',
      {
        startTime: startedAt,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.usage.input_tokens': 12,
          'gen_ai.usage.output_tokens': 5,
          'gen_ai.usage.cost': 0.5,
          list: ['a', 'b'],
          flag: true,
          share: 0.25,
        },
      },
      context,
    );
    call.recordException(new TypeError('No answer.'));
    call.setStatus({ code: SpanStatusCode.ERROR });
    call.end(new Date('2026-05-01T12:00:01.123Z'));
    root.end(new Date('2026-05-01T12:00:02.123Z'));
    await provider.forceFlush();
    await provider.shutdown();
    const [read, ...others] = await list(project);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [read.external_id, read.app_id, read.smith_id, read.name, read.status, read.span_count],
      [root.spanContext().traceId, 'shop', smithId, 'invoke_agent shop', 'completed', 2],
    );
    assert.deepEqual(read.totals, { input_tokens: 12, output_tokens: 5, total_tokens: 17, cost: 0.5 });
    const [first, second] = read.spans.toSorted((one: Json) => (one.parent_span_id === null ? -1 : 1));
    assert.deepEqual([first.span_id, first.started_at], [root.spanContext().spanId, startedAt.toISOString()]);
    assert.deepEqual(second, {
      span_id: call.spanContext().spanId,
      parent_span_id: root.spanContext().spanId,
      name: 'chat gpt-5',
      kind: 'model',
      status: 'error',
      started_at: startedAt.toISOString(),
      ended_at: '2026-05-01T12:00:01.123Z',
      duration_ms: 1_000,
      attributes: {
        'service.name': 'shop',
        'gen_ai.operation.name': 'chat',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.usage.cost': 0.5,
        list: ['a', 'b'],
        flag: true,
        share: 0.25,
      },
      error: { type: 'TypeError', message: 'No answer.' },
      usage: { input_tokens: 12, output_tokens: 5, total_tokens: 17, cost: 0.5 },
    });
  });
}

const everyValue = [
  attribute('text', { stringValue: 'täxt' }),
  attribute('no', { boolValue: false }),
  attribute('small', { intValue: '-7' }),
  attribute('large', { intValue: '9223372036854775807' }),
  attribute('real', { doubleValue: 1.5 }),
  attribute('list', { arrayValue: { values: [{ intValue: '1' }, { stringValue: 'two' }] } }),
  attribute('map', { kvlistValue: { values: [attribute('__proto__', { stringValue: 'plain' })] } }),
];

for (const encoding of ['protobuf', 'json'] as const) {
  describe(`in ${encoding}`, () => {
    const push = (project: Client, message: Json) =>
      encoding === 'json'
        ? send(project, JSON.stringify(message), { 'content-type': 'application/json' })
        : send(project, encode(message));
    const answerOf = ({ bytes }: Sent) =>
      encoding === 'json' ? JSON.parse(bytes.toString()) : decodeMessage('ExportTraceServiceResponse', bytes);

    test('every kind of value is taken, and the answer has the request’s encoding', async () => {
      const project = await platform.createProject();
      const answer = await push(
        project,
        request(
          [span({ attributes: everyValue })],
          [attribute('service.name', { stringValue: 'unknown_service:node' })],
        ),
      );
      assert.equal(answer.status, 200, answer.bytes.toString());
      assert.match(answer.type, encoding === 'json' ? /^application\/json/ : /^application\/x-protobuf$/);
      assert.deepEqual(answerOf(answer), {});
      const [read] = await list(project);
      assert.equal(read.app_id, null);
      assert.equal(read.spans[0].duration_ms, 1.5);
      assert.deepEqual(read.spans[0].attributes, {
        'service.name': 'unknown_service:node',
        text: 'täxt',
        no: false,
        small: -7,
        large: '9223372036854775807',
        real: 1.5,
        list: [1, 'two'],
        map: JSON.parse('{"__proto__": "plain"}'),
      });
    });

    test('what is rejected is counted and named, and the rest is stored', async () => {
      const project = await platform.createProject();
      const traceId = id(16);
      const [one, two] = [id(8), id(8)];
      const answer = await push(
        project,
        request([
          span({ traceId, name: 'good' }),
          span({ traceId: id(15) }),
          span({ spanId: '0'.repeat(16) }),
          span({ endTimeUnixNano: String(START - 1_000n) }),
          span({ traceId: id(16).replace(/^../, 'ff'), spanId: one, parentSpanId: one }),
        ]),
      );
      assert.equal(answer.status, 200);
      const { partialSuccess } = answerOf(answer);
      assert.equal(partialSuccess.rejectedSpans, '4');
      for (const reason of [/16 bytes/, /8 bytes/, /ends before it begins/])
        assert.match(partialSuccess.errorMessage, reason);
      assert.deepEqual(
        (await list(project)).map(({ name }) => name),
        ['good'],
      );
      const cyclic = await push(
        project,
        request([span({ traceId, spanId: one, parentSpanId: two }), span({ traceId, spanId: two, parentSpanId: one })]),
      );
      assert.equal(answerOf(cyclic).partialSuccess.rejectedSpans, '2');
      assert.match(answerOf(cyclic).partialSuccess.errorMessage, /cycle/);
    });

    test('what is sent again counts once', async () => {
      const project = await platform.createProject();
      const message = () =>
        request([
          span({
            traceId: 'ab'.repeat(16),
            spanId: 'cd'.repeat(8),
            attributes: [attribute('gen_ai.usage.input_tokens', { intValue: '3' })],
          }),
        ]);
      for (let n = 0; n < 3; n += 1) assert.deepEqual(answerOf(await push(project, message())), {});
      const [read] = await list(project);
      assert.deepEqual([read.span_count, read.totals.input_tokens], [1, 3]);
    });

    test('a smith that is not there, or not the token’s, gets nothing', async () => {
      const project = await platform.createProject();
      const [own, other] = [await project.createSmith(), await project.createSmith()];
      const of = (smithId: string) => request([span()], [attribute('ironcraft.smith_id', { stringValue: smithId })]);
      assert.equal(answerOf(await push(project, of('smt_none'))).partialSuccess.rejectedSpans, '1');
      const token = project.as(await project.smithToken(own, ['traces:write']));
      assert.equal(answerOf(await push(token, of(other))).partialSuccess.rejectedSpans, '1');
      assert.deepEqual(answerOf(await push(token, of(own))), {});
      assert.deepEqual(answerOf(await push(token, request([span()]))), {});
      assert.deepEqual(
        (await list(project)).map(({ smith_id: smithId }) => smithId),
        [own, own],
      );
    });

    test('an empty request is a good one', async () => {
      const project = await platform.createProject();
      const answer = await push(project, { resourceSpans: [] });
      assert.deepEqual([answer.status, answerOf(answer)], [200, {}]);
    });

    test('values that nest too deep are refused with 400', async () => {
      const project = await platform.createProject();
      const nested = (levels: number): Json =>
        levels === 0 ? { boolValue: true } : { arrayValue: { values: [nested(levels - 1)] } };
      assert.equal((await push(project, request([span({ attributes: [attribute('deep', nested(16))] })]))).status, 200);
      const answer = await push(project, request([span({ attributes: [attribute('deep', nested(17))] })]));
      assert.equal(answer.status, 400);
      const message = encoding === 'json' ? answerOf(answer).message : decodeMessage('Status', answer.bytes).message;
      assert.match(message, /deeper than 16 levels/);
    });
  });
}

test('refusals are a google.rpc.Status in the request’s encoding', async () => {
  const project = await platform.createProject();
  const blind = project.as(await project.smithToken(await project.createSmith(), ['traces:read']));
  const cases: readonly [what: Promise<Sent>, status: number, code: number][] = [
    [send(project.as('nonsense'), ''), 401, 16],
    [send(blind, ''), 403, 7],
    [send(project, Buffer.from('nonsense')), 400, 3],
    [send(project, Buffer.alloc(4 * 1024 * 1024 + 1)), 413, 8],
    [send(project, gzipSync(Buffer.alloc(8 * 1024 * 1024 + 1)), { 'content-encoding': 'gzip' }), 413, 8],
    [send(project, 'x', { 'content-encoding': 'gzip' }), 400, 3],
    [send(project, 'x', { 'content-encoding': 'br' }), 422, 3],
  ];
  for (const [answering, status, code] of cases) {
    const answer = await answering;
    const { code: got, message } = decodeMessage('Status', answer.bytes);
    assert.deepEqual([answer.status, got, answer.type], [status, code, 'application/x-protobuf'], message);
    assert.notEqual(message, '');
  }
  for (const [body, type] of [
    ['{"resourceSpans": 5}', 'application/json'],
    ['{', 'application/json'],
    ['{"resourceSpans": [1]}', 'application/json'],
    [`{"resourceSpans": [${'['.repeat(200)}`, 'application/json'],
  ] as const) {
    const answer = await send(project, body, { 'content-type': type });
    const { code, message, error } = JSON.parse(answer.bytes.toString());
    assert.deepEqual([answer.status, code, error.code, error.message], [400, 3, 'invalid_request', message], body);
  }
  const other = await send(project, 'x', { 'content-type': 'text/plain' });
  assert.equal(other.status, 422);
});

describe('a hostile body is answered:', () => {
  for (const [what, make] of Object.entries(HOSTILE_BODIES)) {
    test(what, async () => {
      const type = what.startsWith('json') ? 'application/json' : 'application/x-protobuf';
      const headers = { 'content-encoding': 'gzip', 'content-type': type };
      const answer = await send(await platform.createProject(), gzipSync(make(0.01)), headers);
      assert.ok([200, 400].includes(answer.status), `${answer.status} ${answer.bytes.toString()}`);
    });
  }
});

test('the operation’s own envelope holds what every refusal’s does', async () => {
  const project = await platform.createProject();
  assertRefusal(await project.as('').post(PATH, {}), 401, 'unauthenticated');
});
