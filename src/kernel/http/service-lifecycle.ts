/**
 * How a service starts, drains and stops, whatever it is made of:
 *
 *   made ──start──▶ serving ──drain──▶ drained ──stop──▶ stopped
 *      └──────────────┴──────────────────stop────────────▲
 *
 * Resources are what work and requests use, so they are there before the first worker and until after the last.
 */
import type { FastifyInstance } from 'fastify';
import { setTimer } from '../clock/timers.ts';
import type { Jobs } from '../jobs/jobs.ts';

/** Something that requests and workers use. */
export interface Resource {
  start?(): Promise<void>;
  stop(): Promise<void>;
}

/** Something that works without being asked. */
export interface Worker {
  start(): Promise<void>;
  /** Takes up nothing new, and finishes or hands on what is under way, within the time. Default: stops. */
  drain?(timeoutMs: number): Promise<void>;
  /** Whether it was drained, started, or neither. */
  stop(): Promise<void>;
}

export interface ServiceLifecycle {
  /** Resources first, then workers, one after the other. The port is opened by whoever called. */
  start(): Promise<void>;
  drain(timeoutMs: number): Promise<void>;
  /** Workers first, then resources, then the server with its connections. Also after a start that failed half-way. */
  stop(): Promise<void>;
}

export interface ServiceDependencies {
  readonly app: FastifyInstance;
  readonly resources: readonly Resource[];
  readonly workers: readonly Worker[];
}

/** How long a stop that was not announced waits for jobs under way; they run again elsewhere. */
const JOBS_GRACE_MS = 1_000;

/** How long answers that are being written may take once everything else has stopped: a reader may never read on. */
const CONNECTIONS_GRACE_MS = 500;

export function createLifecycle({ app, resources, workers }: ServiceDependencies): ServiceLifecycle {
  return {
    async start() {
      for (const resource of resources) await resource.start?.();
      for (const worker of workers) await worker.start();
    },
    async drain(timeoutMs) {
      await Promise.all(workers.map((worker) => worker.drain?.(timeoutMs) ?? worker.stop()));
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(resources.map((resource) => resource.stop()));
      const cut = setTimer(() => app.server.closeAllConnections(), CONNECTIONS_GRACE_MS);
      await app.close();
      cut.cancel();
    },
  };
}

/** The job queue as a worker. */
export function jobsWorker(jobs: Jobs): Worker {
  return {
    start: () => jobs.start(),
    drain: (timeoutMs) => jobs.stop({ graceMs: timeoutMs }),
    stop: () => jobs.stop({ graceMs: JOBS_GRACE_MS }),
  };
}
