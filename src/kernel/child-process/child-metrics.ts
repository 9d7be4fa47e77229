/** The children of every pool on one page of metrics, by the pool's name. */
import type { Metrics } from '../metrics/metrics.ts';
import {
  ChildAnswerTooLargeError,
  ChildCrashedError,
  ChildOutOfMemoryError,
  ChildOutOfProcessorTimeError,
  ChildTimedOutError,
} from './child-errors.ts';

/** What a pool has at the moment. */
interface Measured {
  readonly residentBytes: number;
}

const pools = new WeakMap<Metrics, Map<string, () => readonly Measured[]>>();

/** Answers with what counts the end of a child, by its reason. */
export function exposeChildren(
  metrics: Metrics,
  name: string,
  list: () => readonly Measured[],
): (reason: unknown) => void {
  const known = pools.get(metrics) ?? new Map<string, () => readonly Measured[]>();
  pools.set(metrics, known);
  known.set(name, list);
  metrics.gauge('child_processes', 'Child processes that are alive, by what they are for', ['name'], (gauge) => {
    for (const [pool, children] of known) gauge.set({ name: pool }, children().length);
  });
  metrics.gauge('child_process_resident_bytes', 'Resident memory of child processes (Linux)', ['name'], (gauge) => {
    for (const [pool, children] of known) {
      gauge.set(
        { name: pool },
        children().reduce((sum, { residentBytes }) => sum + residentBytes, 0),
      );
    }
  });
  const ends = metrics.counter('child_process_ends_total', 'Child processes that ended, by reason', ['name', 'reason']);
  return (reason) => ends.inc({ name, reason: nameReason(reason) });
}

function nameReason(reason: unknown): string {
  if (reason instanceof ChildTimedOutError) return 'time';
  if (reason instanceof ChildOutOfProcessorTimeError) return 'processor';
  if (reason instanceof ChildOutOfMemoryError) return 'memory';
  if (reason instanceof ChildAnswerTooLargeError) return 'answer';
  if (reason instanceof ChildCrashedError) return 'crash';
  return 'done';
}
