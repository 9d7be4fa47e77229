/** With the timers and the clock of the test. */
import assert from 'node:assert/strict';
import { after, beforeEach, mock, test } from 'node:test';
import { LINGER_MS, LOOK_MS, noteActivity } from '../event-loop/activity.ts';
import { LAG_SAMPLE_MS } from './event-loop-lag.ts';
import { createMetrics } from './metrics.ts';

let nowMs = 0;
mock.timers.enable({ apis: ['setInterval'] });
mock.method(performance, 'now', () => nowMs);
mock.method(performance, 'eventLoopUtilization', () => ({ active: 0, idle: nowMs, utilization: 0 }));
/** Those that fire as often as samples are taken, and have not been cleared. */
const samplers = new Set<NodeJS.Timeout>();
const { setInterval: set, clearInterval: clear } = globalThis;
mock.method(globalThis, 'setInterval', (callback: () => void, ms: number) => {
  const timer = set(callback, ms);
  if (ms === LAG_SAMPLE_MS) samplers.add(timer);
  return timer;
});
mock.method(globalThis, 'clearInterval', (timer: NodeJS.Timeout) => {
  samplers.delete(timer);
  clear(timer);
});
const metrics = createMetrics({ ofProcess: true });
after(() => mock.reset());
beforeEach(async () => {
  noteActivity();
  await metrics.render();
});

function pass(ms: number): void {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    nowMs += LAG_SAMPLE_MS;
    mock.timers.tick(LAG_SAMPLE_MS);
  }
}

/** Milliseconds. */
async function readLag(part: string): Promise<number> {
  const line = new RegExp(`^nodejs_eventloop_lag_${part}_seconds (\\S+)$`, 'm').exec(await metrics.render());
  return Math.round(Number(line?.[1]) * 1_000);
}

test('the page shows a delay of 200 ms, once', async () => {
  pass(LAG_SAMPLE_MS);
  nowMs += 200;
  pass(LAG_SAMPLE_MS);
  assert.equal(await readLag('max'), 200);
  pass(LAG_SAMPLE_MS);
  assert.equal(await readLag('max'), 0);
});

test('the page keeps a delay for the next scrape though the process is idle by then', async () => {
  pass(LAG_SAMPLE_MS);
  nowMs += 200;
  pass(LINGER_MS + 2 * LOOK_MS);
  noteActivity();
  assert.equal(await readLag('max'), 200);
  assert.equal(await readLag('p50'), 0);
});

test('the event loop is sampled while the process is active, and the time of rest is no lag', async () => {
  assert.equal(samplers.size, 1);
  pass(LINGER_MS + LOOK_MS);
  assert.equal(samplers.size, 0);
  pass(60_000);
  noteActivity();
  assert.equal(samplers.size, 1);
  pass(LAG_SAMPLE_MS);
  assert.equal(await readLag('max'), 0);
});

test('the page shows 0 for a process that has only been idle since the last scrape', async () => {
  pass(LINGER_MS + LOOK_MS);
  await metrics.render();
  pass(60_000);
  for (const part of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) assert.equal(await readLag(part), 0, part);
});
