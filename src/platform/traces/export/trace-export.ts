/**
 * Sends runs' spans out once they have ended, behind the turns: the replica that ended a run puts it into a queue of bounded
 * length, and one worker reads what is stored of each and sends it. A turn never waits, and what finds no room is dropped
 * and counted. Each run is sent by the replica that ended it, so once; what a replica that dies had in its queue is not sent.
 */
import { elapsedMs, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Resource } from '../../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import { createPeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { findRunTrace } from '../read-run-trace.ts';
import type { TraceWithSpans } from '../trace.ts';
import { type CollectorAddress, openSpanSender, type SpanSender } from './span-sender.ts';

export interface EndedRun {
  readonly projectId: string;
  readonly runId: string;
}

/** Stops after the turns, whose last ones it sends. */
export interface TraceExport extends Resource {
  /** Takes note of a run that has ended. Never waits and never throws. */
  runEnded(run: EndedRun): void;
}

export interface TraceExportDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Undefined: nothing is sent. */
  readonly collector: CollectorAddress | undefined;
  /** For tests. */
  readonly maxQueued?: number;
}

const MAX_QUEUED = 4_096;
/** Runs of one request. */
const RUNS_AT_ONCE = 50;
/** Runs that end together are sent together. */
const GATHER_MS = 500;
const LOOK_INTERVAL_MS = 5_000;
const DROPS_LOGGED_EVERY_MS = 60_000;
/** No further request is begun after so long; one that is under way has ten seconds at most. */
const STOP_GRACE_MS = 2_000;

export function createTraceExport(deps: TraceExportDependencies): TraceExport {
  const { collector, logger, metrics, maxQueued = MAX_QUEUED } = deps;
  const exports = metrics.counter(
    'trace_exports_total',
    'Runs whose spans were to be sent to IRONCRAFT_OTLP_URL: sent, failed, or dropped for want of room',
    ['outcome'],
  );
  const queue: EndedRun[] = [];
  let opening: Promise<SpanSender> | undefined;
  let isStarted = false;
  let gathering: Timer | undefined;
  let dropsLoggedAt = Number.NEGATIVE_INFINITY;

  const worker = createPeriodicWorker({
    name: 'trace export',
    intervalMs: LOOK_INTERVAL_MS,
    startsAtOnce: false,
    logger,
    pass: async (signal) => {
      while (queue.length > 0 && !signal.aborted) await sendNext();
    },
  });

  /** What cannot be sent is not tried again beyond the exporter's own retries: what comes after would wait for it. */
  async function sendNext(): Promise<void> {
    const runs = queue.splice(0, RUNS_AT_ONCE);
    try {
      const traces = await readTraces(deps.db, runs);
      if (collector !== undefined && traces.length > 0) {
        opening ??= openSpanSender(collector);
        await (await opening).send(traces);
      }
      exports.inc({ outcome: 'sent' }, runs.length);
    } catch (error) {
      exports.inc({ outcome: 'failed' }, runs.length);
      logger.warn({ err: error, runs: runs.length }, 'spans of runs were not sent to IRONCRAFT_OTLP_URL');
    }
  }

  return {
    runEnded(run) {
      if (collector === undefined) return;
      if (queue.length >= maxQueued) {
        exports.inc({ outcome: 'dropped' });
        const now = elapsedMs();
        if (now - dropsLoggedAt < DROPS_LOGGED_EVERY_MS) return;
        dropsLoggedAt = now;
        logger.warn({ queued: queue.length }, 'runs end faster than their spans are sent: some are dropped');
        return;
      }
      queue.push(run);
      if (!isStarted || gathering !== undefined) return;
      gathering = setTimer(() => {
        gathering = undefined;
        worker.wake();
      }, GATHER_MS);
    },
    async start() {
      isStarted = true;
      if (collector !== undefined) worker.start();
    },
    async stop() {
      isStarted = false;
      gathering?.cancel();
      const late = setTimer(() => void worker.stop(), STOP_GRACE_MS, { keepsProcess: true });
      await worker.runPass().catch(() => undefined);
      late.cancel();
      await worker.stop();
      const sender = await opening?.catch(() => undefined);
      await sender?.close();
    },
  };
}

async function readTraces(db: Database, runs: readonly EndedRun[]): Promise<TraceWithSpans[]> {
  const traces: TraceWithSpans[] = [];
  for (const { projectId, runId } of runs) {
    const trace = await findRunTrace(tenantDb(db, projectId), runId, undefined);
    if (trace !== undefined) traces.push(trace);
  }
  return traces;
}
