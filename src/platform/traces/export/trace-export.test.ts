/** Runs' spans at a collector: what arrives, when, and what becomes of it when the collector is slow or away. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type OtlpCollector, startOtlpCollector } from '../../../../test/fakes/otlp-collector.ts';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { eventually, makeSmith } from '../../../../test/support/turns.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { createTraceExport } from '../index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
type Json = any;

const collector: OtlpCollector = await startOtlpCollector();
const headers = { authorization: 'Bearer collector-secret' };
const platform = await startPlatform({ limits: { otlp: { url: collector.url, headers } } });
after(async () => {
  await platform.close();
  await collector.close();
});

/** The spans of the trace that have arrived, once there are so many. */
function arrived(traceId: string, count: number): Promise<Json[]> {
  return eventually(() => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    return spans.length >= count ? spans : undefined;
  }, `${count} spans of ${traceId} arrive`);
}

test('a run’s own spans arrive at a collector once it has ended, as its trace has them', async () => {
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Call the tool current_time with {}');
  const { body: trace } = await smith.project.get(`/v1/runs/${run.id}/trace`);
  const spans = await arrived(trace.external_id, trace.span_count);
  assert.equal(spans.length, trace.span_count);
  const nanos = (time: string) => `${Date.parse(time)}000000`;
  for (const span of trace.spans) {
    const sent = spans.find(({ spanId }) => spanId === span.span_id);
    assert.deepEqual(
      [sent.name, sent.parentSpanId ?? null, sent.startTimeUnixNano, sent.endTimeUnixNano],
      [span.name, span.parent_span_id, nanos(span.started_at), nanos(span.ended_at)],
    );
    assert.deepEqual(sent.attributes, span.attributes);
    assert.equal(sent.status?.code ?? 0, span.error === null ? 0 : 2);
    assert.deepEqual(sent.resource, { 'service.name': 'ironcraft' });
  }
  const request = collector.requests.at(-1);
  assert.equal(request?.path, '/v1/traces');
  assert.equal(request?.headers.authorization, headers.authorization);
  assert.equal(request?.headers['content-type'], 'application/x-protobuf');
});

test('a run that is cancelled while it is paused is sent too, and no run twice', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool look with {}', { tools: [{ name: 'look' }] });
  const { body: trace } = await smith.project.get(`/v1/runs/${paused.id}/trace`);
  await smith.cancel(paused.id);
  await smith.cancel(paused.id);
  const { body: last } = await smith.ask('Write 2 words');
  const { body: lastTrace } = await smith.project.get(`/v1/runs/${last.id}/trace`);
  await arrived(lastTrace.external_id, lastTrace.span_count);
  const spans = await arrived(trace.external_id, trace.span_count);
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
  const root = spans.find(({ parentSpanId }) => parentSpanId === undefined);
  assert.deepEqual(root.attributes['gen_ai.response.finish_reasons'], ['cancelled']);
});

test('what this server takes by OTLP it can be sent by itself', async () => {
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Write 2 words');
  const { body: trace } = await smith.project.get(`/v1/runs/${run.id}/trace`);
  await arrived(trace.external_id, trace.span_count);
  const { message } = collector.requests.findLast(({ message: sent }) =>
    JSON.stringify(sent).includes(trace.external_id),
  ) as Json;
  const other = await platform.createProject();
  const strip = (span: Json) => ({
    ...span,
    attributes: span.attributes.filter(({ key }: Json) => key !== 'ironcraft.smith_id'),
  });
  const sent = message.resourceSpans.map((one: Json) => ({
    ...one,
    scopeSpans: one.scopeSpans.map((scope: Json) => ({ ...scope, spans: scope.spans.map(strip) })),
  }));
  const answer = await other.post('/v1/otlp/v1/traces', { resourceSpans: sent });
  assert.deepEqual([answer.status, answer.body], [200, {}], answer.text);
  const { body: read } = await other.get('/v1/traces?limit=100');
  const copy = read.data.find(({ external_id: id }: Json) => id === trace.external_id);
  assert.deepEqual([copy.name, copy.span_count, copy.totals], [trace.name, trace.span_count, trace.totals]);
});

test('a run that ends is queued without a wait when the collector never answers, and counted as dropped when there is no room', async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const store = await openTestDatabase();
  const metrics = createMetrics();
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const traceExport = createTraceExport({
    db: store.db,
    logger: openTestLogger(),
    metrics,
    collector: { url, headers: {} },
    maxQueued: 50,
  });
  await traceExport.start?.();
  for (let n = 0; n < 1_000; n += 1) traceExport.runEnded({ projectId: 'proj_x', runId: `run_${n}` });
  assert.ok((await metrics.render()).includes('trace_exports_total{outcome="dropped"} 950'));
  await traceExport.stop();
  // Runs that are not there have nothing to send.
  assert.match(await metrics.render(), /trace_exports_total\{outcome="sent"\} 50/);
  silent.closeAllConnections();
  silent.close();
  await store.close();
});

test('spans that the collector refuses are counted as failed, and the next ones are sent', async () => {
  const refusing = await startOtlpCollector();
  const metrics = createMetrics();
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Write 2 words');
  const traceExport = createTraceExport({
    db: platform.db,
    logger: openTestLogger(),
    metrics,
    collector: { url: `${refusing.url}/v1/traces`, headers: {} },
  });
  const ended = { projectId: smith.project.projectId, runId: run.id };
  await traceExport.start?.();
  refusing.answerWith(400);
  traceExport.runEnded(ended);
  await eventually(async () => (/outcome="failed"\} 1/.test(await metrics.render()) ? true : undefined), 'it failed');
  refusing.answerWith(200);
  traceExport.runEnded(ended);
  await traceExport.stop();
  assert.match(await metrics.render(), /outcome="sent"\} 1/);
  assert.equal(refusing.spans.length, 2);
  await refusing.close();
});
