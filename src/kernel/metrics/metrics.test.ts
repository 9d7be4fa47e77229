import assert from 'node:assert/strict';
import { test } from 'node:test';
import { register } from 'prom-client';
import { createMetrics, renderSum } from './metrics.ts';

test('instruments appear on the page with their labels, beside those of the process', async () => {
  const metrics = createMetrics({ ofProcess: true });
  metrics.counter('jobs_total', 'Jobs done', ['queue']).inc({ queue: 'mail' }, 3);
  metrics.gauge('streams_open', 'Streams', [], (gauge) => gauge.set(7));
  metrics.histogram('wait_seconds', 'Waits', ['kind'], [1, 2]).observe({ kind: 'a' }, 1.5);
  const page = await metrics.render();
  assert.match(page, /^jobs_total\{queue="mail"\} 3$/m);
  assert.match(page, /^streams_open 7$/m);
  assert.match(page, /^wait_seconds_bucket\{le="1",kind="a"\} 0$/m);
  assert.match(page, /^wait_seconds_bucket\{le="2",kind="a"\} 1$/m);
  assert.match(page, /^process_resident_memory_bytes \d+/m);
  assert.match(page, /^nodejs_eventloop_lag_p99_seconds /m);
  assert.match(metrics.contentType, /^text\/plain/);
});

test('a page is without the metrics of the process unless it is to have them', async () => {
  assert.doesNotMatch(await createMetrics().render(), /process_|nodejs_/);
});

test('two pages share nothing, and nothing is registered globally', async () => {
  const one = createMetrics();
  const other = createMetrics();
  one.counter('only_here_total', 'x').inc();
  assert.doesNotMatch(await other.render(), /only_here_total/);
  assert.equal((await register.getMetricsAsJSON()).length, 0);
});

test('asking for a name again gives the same instrument, and another kind is refused', async () => {
  const metrics = createMetrics();
  metrics.counter('hits_total', 'x').inc();
  metrics.counter('hits_total', 'x').inc();
  assert.match(await metrics.render(), /^hits_total 2$/m);
  assert.throws(() => metrics.gauge('hits_total', 'x'), /hits_total/);
});

test('of several processes counts are added up, and what they share is shown as it is', async () => {
  const processes = [createMetrics(), createMetrics(), createMetrics()];
  for (const [index, metrics] of processes.entries()) {
    metrics.gauge('streams_open', 'Streams', [], (gauge) => gauge.set(7));
    metrics.sharedGauge('balance', 'What is left', ['account'], (gauge) => gauge.set({ account: 'a' }, 1952.4));
    metrics.sharedGauge('findings', 'What is wrong').set(index === 1 ? 2 : 0);
    metrics.counter('hits_total', 'Hits').inc(3);
  }
  const page = await renderSum(await Promise.all(processes.map((metrics) => metrics.snapshot())));
  assert.match(page, /^streams_open 21$/m);
  assert.match(page, /^hits_total 9$/m);
  assert.match(page, /^balance\{account="a"\} 1952.4$/m);
  assert.match(page, /^findings 2$/m);
});
