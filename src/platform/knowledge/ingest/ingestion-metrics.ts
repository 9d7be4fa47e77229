import type { Metrics } from '../../../kernel/metrics/metrics.ts';

export interface IngestionMetrics {
  /** A file was settled after a run of so long; with the code of its failure, or completed. */
  settled(code: string | undefined, ms: number): void;
  chunks(count: number): void;
}

export function createIngestionMetrics(metrics: Metrics): IngestionMetrics {
  const seconds = metrics.histogram(
    'ingestion_duration_seconds',
    'Time of the run that settled a file, by outcome: completed, or the code of the failure',
    ['outcome'],
  );
  const stored = metrics.counter('ingestion_chunks_total', 'Chunks that were stored with their vectors');
  return {
    settled: (code, ms) => seconds.observe({ outcome: code ?? 'completed' }, ms / 1000),
    chunks: (count) => stored.inc(count),
  };
}
