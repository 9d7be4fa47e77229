/**
 * How late the event loop is, under the names that prom-client gives it. prom-client's own monitor wakes the process a hundred times a
 * second for ever. This one samples while the process is active (see activity.ts): an idle event loop is late for nobody.
 */
import { createHistogram } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';
import { followActivity } from '../event-loop/activity.ts';

/** A delay shows less this much at most. */
export const LAG_SAMPLE_MS = 50;
const NS_A_MS = 1e6;
const NS_A_SECOND = 1e9;

/**
 * Adds the gauges to a page. Each scrape shows what was sampled since the last one: how late timers fired, without the time that they
 * were set for. All are 0 where nothing was sampled. Watches until the process ends.
 */
export function measureEventLoopLag(registry: Registry): void {
  const samples = createHistogram();
  let timer: NodeJS.Timeout | undefined;
  let firedAtMs = 0;
  const takeSample = (): void => {
    const nowMs = performance.now();
    samples.record(Math.max(1, Math.round((nowMs - firedAtMs - LAG_SAMPLE_MS) * NS_A_MS)));
    firedAtMs = nowMs;
  };
  followActivity({
    start() {
      firedAtMs = performance.now();
      timer = setInterval(takeSample, LAG_SAMPLE_MS).unref();
    },
    stop: () => clearInterval(timer),
  });

  const open = (part: string, help: string, aggregator: 'average' | 'min' | 'max', collect?: () => void) =>
    new Gauge({
      name: `nodejs_eventloop_lag${part}_seconds`,
      help,
      registers: [registry],
      aggregator,
      ...(collect !== undefined && { collect }),
    });
  const showSamples = (): void => {
    const isEmpty = samples.count === 0;
    for (const [gauge, read] of shown) gauge.set(isEmpty ? 0 : read() / NS_A_SECOND);
    samples.reset();
  };
  const now = open('', 'Lag of event loop in seconds.', 'average', () => {
    const askedAtMs = performance.now();
    setImmediate(() => now.set((performance.now() - askedAtMs) / 1_000));
    showSamples();
  });
  const percentile = (at: number) =>
    [
      open(`_p${at}`, `The ${at}th percentile of the recorded event loop delays.`, 'average'),
      () => samples.percentile(at),
    ] as const;
  const shown: readonly (readonly [Gauge, () => number])[] = [
    [open('_min', 'The minimum recorded event loop delay.', 'min'), () => samples.min],
    [open('_max', 'The maximum recorded event loop delay.', 'max'), () => samples.max],
    [open('_mean', 'The mean of the recorded event loop delays.', 'average'), () => samples.mean],
    [open('_stddev', 'The standard deviation of the recorded event loop delays.', 'average'), () => samples.stddev],
    ...[50, 90, 99].map(percentile),
  ];
}
