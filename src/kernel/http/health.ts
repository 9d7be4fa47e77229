/**
 * What a machine asks about a server: does it live, should it get requests, how is it doing. Health takes no token and has a
 * budget of its own; none of it is part of the API's document. `/metrics` tells nothing of a tenant, but is not for everybody:
 * it may ask for a token, or be served on another address (serve-metrics.ts).
 */
import type { FastifyInstance } from 'fastify';
import { setTicker } from '../clock/timers.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { holdsMetricsToken } from '../metrics/metrics-token.ts';
import { ApiError } from './errors.ts';

export interface HealthOptions {
  readonly service: string;
  /** The source that runs: a commit, or a version. */
  readonly commit: string;
  /** What the server cannot work without, by name; each rejects while it is missing. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** Undefined: served elsewhere. */
  readonly metrics: Pick<Metrics, 'render' | 'contentType'> | undefined;
  /** Without it, whoever asks gets metrics. */
  readonly metricsToken?: string | undefined;
  /** True from the moment everything listens until the server is asked to stop. */
  readonly isServing: () => boolean;
}

/** A check that takes longer has failed: a probe that waits on is no better informed. */
export const CHECK_TIMEOUT_MS = 2_000;
const TICK_MS = 100;

/**
 * Adds `/healthz` (200 as long as the process answers), `/readyz` (503 while a check fails, the server starts or drains) and
 * `/metrics` (Prometheus text). Call it before the server listens.
 */
export function mountHealth(app: FastifyInstance, options: HealthOptions): void {
  const { service, commit, isServing } = options;
  const checks = Object.entries(options.checks).map(([name, check]) => ({ name, check: shareCall(check) }));
  const probe = { config: { isProbe: true } };
  app.get('/healthz', probe, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ ok: true, service, commit }),
  );
  app.get('/readyz', probe, async (_request, reply) => {
    const outcomes = await Promise.all(
      checks.map(async ({ name, check }) => [name, (await passes(check)) ? 'ok' : 'failed'] as const),
    );
    const ok = isServing() && outcomes.every(([, outcome]) => outcome === 'ok');
    return reply
      .code(ok ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ok, service, checks: Object.fromEntries(outcomes) });
  });
  mountMetrics(app, options);
}

function mountMetrics(app: FastifyInstance, { metrics, metricsToken }: HealthOptions): void {
  if (metrics === undefined) return;
  app.get('/metrics', async ({ headers }, reply) => {
    if (metricsToken !== undefined && !holdsMetricsToken(headers.authorization, metricsToken)) {
      throw new ApiError('unauthenticated', { message: 'Send `Authorization: Bearer <IRONCRAFT_METRICS_TOKEN>`.' });
    }
    return reply.type(metrics.contentType).send(await metrics.render());
  });
}

/** Probes that arrive while a check runs await that one, so that a store that hangs is not asked more and more. */
function shareCall(check: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** The time is counted in ticks, of which none passes while the event loop is held up: what came meanwhile is not late. */
async function passes(check: () => Promise<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  let leftMs = CHECK_TIMEOUT_MS;
  const timer = setTicker(
    () => {
      leftMs -= TICK_MS;
      if (leftMs <= 0) resolve(false);
    },
    TICK_MS,
    { keepsProcess: true },
  );
  try {
    return await Promise.race([check().then(() => true), late]);
  } catch {
    return false;
  } finally {
    timer.cancel();
  }
}
