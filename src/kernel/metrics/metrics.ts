import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { measureEventLoopLag } from './event-loop-lag.ts';

/** Seconds: from a cache hit to a long model call. */
const DURATION_BUCKETS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** Asking twice for a name gives the same instrument, so that two services of one process can share a page. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  /** Of this process: several add up. `collect` runs at each scrape, which waits for it, and may set the value. */
  gauge(name: string, help: string, labels?: readonly string[], collect?: Collect): Gauge;
  /** Of something that all processes share: of several the largest is shown. */
  sharedGauge(name: string, help: string, labels?: readonly string[], collect?: Collect): Gauge;
  histogram(name: string, help: string, labels?: readonly string[], buckets?: readonly number[]): Histogram;
  /** The Prometheus text format; answer it with `contentType`. */
  render(): Promise<string>;
  readonly contentType: string;
  /** What `render` would tell, as data for `renderSum`, also of another process. */
  snapshot(): Promise<readonly object[]>;
}

type Collect = (gauge: Gauge) => void | Promise<void>;

export interface MetricsOptions {
  /**
   * With those of the process: CPU, memory, event loop, garbage collection. What watches them does so until the process ends,
   * and holds the page for as long. Default false.
   */
  readonly ofProcess?: boolean;
}

/** A page of metrics of its own. */
export function createMetrics({ ofProcess = false }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (ofProcess) measureProcess(registry);
  const registers = [registry];
  const openGauge = (
    aggregator: 'sum' | 'max',
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: Collect | undefined,
  ): Gauge => {
    const found = registry.getSingleMetric(name);
    if (found instanceof Gauge) return found;
    if (found !== undefined) throw kindError(name, 'gauge');
    return new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers,
      aggregator,
      ...(collect === undefined
        ? {}
        : {
            collect() {
              return collect(this);
            },
          }),
    });
  };
  return {
    counter(name, help, labels = []) {
      const found = registry.getSingleMetric(name);
      if (found === undefined) return new Counter({ name, help, labelNames: [...labels], registers });
      if (found instanceof Counter) return found;
      throw kindError(name, 'counter');
    },
    gauge: (name, help, labels = [], collect) => openGauge('sum', name, help, labels, collect),
    sharedGauge: (name, help, labels = [], collect) => openGauge('max', name, help, labels, collect),
    histogram(name, help, labels = [], buckets = DURATION_BUCKETS_S) {
      const found = registry.getSingleMetric(name);
      if (found instanceof Histogram) return found;
      if (found !== undefined) throw kindError(name, 'histogram');
      return new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers });
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
    snapshot: () => registry.getMetricsAsJSON(),
  };
}

function measureProcess(registry: Registry): void {
  // prom-client has no way to leave its monitor of the event loop out: this one never fires.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name);
  }
  measureEventLoopLag(registry);
}

/** One page of what several processes tell: counters, histograms and gauges added up, and of a shared gauge the largest value. */
export function renderSum(snapshots: readonly (readonly object[])[]): Promise<string> {
  return AggregatorRegistry.aggregate(snapshots as never).metrics();
}

function kindError(name: string, kind: string): Error {
  return new Error(`metric ${name} exists and is no ${kind}: give this one another name`);
}
