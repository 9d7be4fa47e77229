/**
 * The services of a server process: made, started and listening. Apart from run-server.ts, so that the store opens while all this is
 * loaded.
 */
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Config, publicUrlFor } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { migrate } from '../kernel/db/migrate.ts';
import { BLOCK_BUCKETS_S, type EventLoopWatch, watchEventLoop } from '../kernel/event-loop/watch-event-loop.ts';
import { mountHealth } from '../kernel/http/health.ts';
import { listenOn } from '../kernel/http/listen-on.ts';
import { createSharedBoss } from '../kernel/jobs/shared-boss.ts';
import type { Logger } from '../kernel/log/log.ts';
import { createMetrics, type Metrics } from '../kernel/metrics/metrics.ts';
import { startMetricsServer } from '../kernel/metrics/serve-metrics.ts';
import { type OperatorSocket, operatorSocketPath, startOperatorSocket } from '../kernel/operator/index.ts';
import { createOutbound, type Outbound } from '../kernel/outbound/outbound.ts';
import { explainListenError } from './hold-port.ts';
import { listPending, migrationSources } from './migrations.ts';
import { openVault } from './open-store.ts';
import type { ProcessGroup } from './processes/join-processes.ts';
import { releaseMemory, releaseMemoryGradually, releaseMemoryNowAndThen } from './release-memory.ts';
import type { ServedService, ServerDependencies } from './served-service.ts';
import { type Service, serviceName } from './service-name.ts';
import type { Place } from './service-place.ts';
import { readSourceCommit, sourceRoot } from './source-commit.ts';
import { reportStep } from './startup-steps.ts';
import type { StopSignals } from './stop-signals.ts';

type MakeService = (parts: ServerDependencies) => Promise<ServedService>;

/** Loaded while the database opens. */
const makers: Record<Service, () => Promise<MakeService>> = {
  platform: async () => (await import('./serve-platform.ts')).servePlatform,
  domains: async () => (await import('./serve-domains.ts')).serveDomains,
};

const serviceTitles: Record<Service, string> = { platform: 'agent platform', domains: 'domain service' };

export interface Start {
  readonly config: Config;
  readonly logger: Logger;
  /** Of each service that is served. */
  readonly places: readonly Place[];
  /** May reject at any time. */
  readonly opening: Promise<Database>;
  readonly stop: StopSignals;
  /** Undefined: this process serves alone. */
  readonly group: ProcessGroup | undefined;
}

/** Everything from the opening store to the open ports. Leaves what it opens to the stack. */
export async function startServices(
  { config, logger, places, opening, stop, group }: Start,
  opened: AsyncDisposableStack,
): Promise<readonly Running[]> {
  // Loaded while the store opens.
  const loading = Promise.all(places.map(({ service }) => makers[service]()));
  const [db, make] = await Promise.all([opening, loading]);
  const outbound = createOutbound({ allow: config.outboundAllow, logger });
  opened.defer(() => outbound.close());
  stop.throwIfReceived();
  const boss = createSharedBoss({ db, logger });
  const parts = { config, logger, db, outbound, boss, ...(await prepareStore(config, logger, db)) };
  reportStep('services', places.map(({ service }) => serviceTitles[service]).join(' and the '));
  const running: Running[] = [];
  opened.defer(async () => void (await Promise.all(running.map(({ served }) => served.stop()))));
  for (const [index, makeService] of make.entries()) {
    const place = places[index];
    if (place === undefined) continue;
    stop.throwIfReceived();
    running.push(await prepare(parts, place, makeService, group));
  }
  for (const { served } of running) {
    stop.throwIfReceived();
    await served.app.ready();
  }
  // Before any work begins: a turn that is taken over may be what blocks the process.
  const watch = watchProcess(config, logger, running);
  opened.defer(() => watch.stop());
  for (const { served } of running) {
    stop.throwIfReceived();
    await served.start();
  }
  stop.throwIfReceived();
  for (const one of running) {
    const stopListening = await listen(one);
    opened.defer(async () => stopListening());
  }
  opened.defer(await listenForMetrics(config, logger, running));
  const operator = await openOperatorSocket(config, logger, db, running);
  opened.defer(async () => operator?.close());
  for (const one of running) one.setServing(true);
  const told = running.map(welcome).join('\n');
  if (group === undefined) process.stdout.write(told);
  else group.tellServing(told);
  const memory = releaseMemoryNowAndThen({
    afterStart: () => watch.ignoring(releaseMemory),
    atRest: () => watch.ignoring(releaseMemoryGradually),
    // What takes long is done before somebody asks.
    atFirstRest() {
      // One that is killed later has told the next start what it compiled.
      watch.ignoring(flushCompileCache);
      for (const { served } of running) watch.ignoring(() => served.app.renderDocument());
    },
  });
  opened.defer(async () => memory.stop());
  return running;
}

function watchProcess(config: Config, logger: Logger, running: readonly Running[]): EventLoopWatch {
  const help = 'Blocks of the event loop of 0.1 s and more';
  const histograms = running.map(({ metrics }) =>
    metrics.histogram('event_loop_blocked_seconds', help, [], BLOCK_BUCKETS_S),
  );
  return watchEventLoop({
    logger,
    onBlock(durationMs) {
      for (const histogram of histograms) histogram.observe(durationMs / 1_000);
    },
    endAfterMs: config.blockedMs,
    root: pathToFileURL(join(sourceRoot, '/')).href,
  });
}

async function prepareStore(config: Config, logger: Logger, db: Database) {
  const pending = await listPending(db);
  if (pending.length === 0) return { vault: await openVault(config, db) };
  reportStep('migrations', pending.length);
  for (const source of migrationSources) {
    const { applied } = await migrate(db, source);
    for (const name of applied) logger.info({ service: source.service, name }, 'migration applied');
  }
  return { vault: await openVault(config, db) };
}

export interface Running {
  readonly place: Place;
  readonly served: ServedService;
  readonly metrics: Metrics;
  /** What a scraper is shown. */
  readonly page: Pick<Metrics, 'render' | 'contentType'>;
  /** Whether the service says that it is ready. */
  setServing(isServing: boolean): void;
}

type ProcessParts = Omit<ServerDependencies, 'metrics' | 'publicUrl'> & { readonly outbound: Outbound };

/** Everything up to the open port. */
async function prepare(
  parts: ProcessParts,
  place: Place,
  makeService: MakeService,
  group: ProcessGroup | undefined,
): Promise<Running> {
  const metrics = createMetrics({ ofProcess: true });
  const page = group?.share(place.service, metrics) ?? metrics;
  const served = await makeService({ ...parts, metrics, publicUrl: place.publicUrl });
  let serving = false;
  mountHealth(served.app, {
    service: serviceName(place.service),
    commit: readSourceCommit(sourceRoot),
    checks: { db: () => parts.db.ping(), ...served.checks },
    metrics: parts.config.metrics.port === undefined ? page : undefined,
    metricsToken: parts.config.metrics.token,
    isServing: () => serving && group?.allServe() !== false,
  });
  return {
    place,
    served,
    metrics,
    page,
    setServing(isServing) {
      serving = isServing;
    },
  };
}

/** Returns what ends it for all addresses but the first. */
async function listen({ place, served }: Running): Promise<() => void> {
  const { host, held, variable } = place;
  const { port } = held;
  await held.release();
  try {
    return await listenOn(served.app, { host, port });
  } catch (error) {
    throw error instanceof Error ? explainListenError(error, host, port, variable) : error;
  }
}

/** Serves metrics on their own address, where the operator has chosen one. Returns what closes it. */
async function listenForMetrics(
  { metrics: { host, port, token } }: Config,
  logger: Logger,
  running: readonly Running[],
): Promise<() => Promise<void>> {
  if (port === undefined) return async () => undefined;
  const pages = Object.fromEntries(running.map(({ place, page }) => [place.service, page]));
  try {
    const server = await startMetricsServer({ host, port, token, pages });
    logger.info({ host, port: server.port }, 'metrics are served');
    return () => server.close();
  } catch (error) {
    throw error instanceof Error
      ? explainListenError(error, host, port, 'IRONCRAFT_METRICS_PORT', 'IRONCRAFT_METRICS_HOST')
      : error;
  }
}

/** An operator reaches a server's database directly; the embedded one is this process's alone. */
async function openOperatorSocket(
  config: Config,
  logger: Logger,
  db: Database,
  running: readonly Running[],
): Promise<OperatorSocket | undefined> {
  if (db.kind !== 'embedded') return undefined;
  const services = running.map(({ served }) => served.operated);
  return startOperatorSocket({ path: operatorSocketPath(config.dataDir), logger, services });
}

/** Said once everything listens: a reader may stop the server again. */
function welcome({ place: { host, held }, served }: Running): string {
  return served.welcome(publicUrlFor({ host, publicUrl: undefined }, held.port));
}
