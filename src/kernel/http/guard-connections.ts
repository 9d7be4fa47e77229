/** The limits of connections at work on a server: how many there may be, how slow they may be, and what is counted of both. */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { elapsedMs } from '../clock/timers.ts';
import type { TrustProxy } from '../config/parse-value.ts';
import { beginWork } from '../event-loop/activity.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ApiError } from './errors.ts';
import { type ConnectionLimits, limitConnections } from './limit-connections.ts';
import { limitPipelining } from './limit-pipelining.ts';
import { type Deadlines, watchConnections } from './watch-connections.ts';

export interface GuardOptions {
  readonly connections: ConnectionLimits;
  readonly trustProxy: TrustProxy;
  readonly deadlines: Deadlines;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Answers and closes a connection of which nothing has been read. */
  readonly refuse: (socket: Socket, refusal: ApiError) => void;
}

/** A request that takes longer follows something: the frames that it is sent are activity of their own. */
const MAX_REQUEST_WORK_MS = 30_000;
/** No more often is it logged that connections are refused. */
const LOGGED_EVERY_MS = 60_000;

/** Call it before the server listens, and before anything else looks at requests. */
export function guardConnections(app: FastifyInstance, options: GuardOptions): void {
  const { metrics, logger, deadlines } = options;
  const closed = metrics.counter('http_connections_closed_total', 'Connections refused or cut off, by reason', [
    'reason',
  ]);
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  const countOpen = limitConnections(app.server, {
    ...options.connections,
    trustProxy: options.trustProxy,
    refuse(socket, refusal, limit, address) {
      closed.inc({ reason: limit === 'address' ? 'too_many_of_address' : 'too_many' });
      if (elapsedMs() - loggedAtMs > LOGGED_EVERY_MS) {
        loggedAtMs = elapsedMs();
        logger.warn(
          { address },
          `${refusal.message} Is the address a proxy of yours? Name it in IRONCRAFT_TRUST_PROXY.`,
        );
      }
      options.refuse(socket, refusal);
    },
  });
  metrics.gauge('http_connections_open', 'Connections that are open', [], (gauge) => gauge.set(countOpen()));
  limitPipelining(app.server, () => closed.inc({ reason: 'pipelining' }));
  const watch = watchConnections(deadlines, (reason) => closed.inc({ reason }));
  app.addHook('onListen', async () => watch.start());
  app.addHook('onClose', async () => watch.stop());
  app.addHook('onRequest', (request, reply, done) => {
    // Probes come for ever, and would keep an idle process active.
    if (request.routeOptions.config.isProbe !== true) reply.raw.once('close', beginWork(MAX_REQUEST_WORK_MS));
    watch.watch(request.raw, reply.raw);
    done();
  });
}
