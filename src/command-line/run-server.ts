/** The server process from its configuration to its end: one service, or all of them in one process. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Config, loadConfig, publicUrlFor } from '../kernel/config/config.ts';
import { exposesPrivateNetwork, PRIVATE_NETWORK_EXPOSED } from '../kernel/config/exposure.ts';
import type { Database } from '../kernel/db/database.ts';
import { holdsStore } from '../kernel/db/embedded-folder.ts';
import { migrate } from '../kernel/db/migrate.ts';
import { openDatabase } from '../kernel/db/open-database.ts';
import { BLOCK_BUCKETS_S, type EventLoopWatch, watchEventLoop } from '../kernel/event-loop/watch-event-loop.ts';
import { mountHealth } from '../kernel/http/health.ts';
import { listenOn } from '../kernel/http/listen-on.ts';
import { createLogger, type Logger } from '../kernel/log/log.ts';
import { openLogOutput } from '../kernel/log/open-log-output.ts';
import { createMetrics, type Metrics } from '../kernel/metrics/metrics.ts';
import { startMetricsServer } from '../kernel/metrics/serve-metrics.ts';
import { type OperatorSocket, operatorSocketPath, startOperatorSocket } from '../kernel/operator/index.ts';
import { createOutbound, type Outbound } from '../kernel/outbound/outbound.ts';
import { EXIT_FAILURE, EXIT_OK } from './command-error.ts';
import { explainListenError, type HeldPort, holdPort } from './hold-port.ts';
import { listPending, migrationSources, storeTemplate } from './migrations.ts';
import { openVault } from './open-store.ts';
import { joinProcesses, type ProcessGroup, tellsItsSteps } from './processes/join-processes.ts';
import { releaseMemory, releaseMemoryAtRest } from './release-memory.ts';
import { reportProcess } from './report-process.ts';
import type { ServedService, ServerDependencies } from './served-service.ts';
import { type Service, serviceName } from './service-name.ts';
import { readSourceCommit, sourceRoot } from './source-commit.ts';
import { reportStep } from './startup-steps.ts';
import { listenForStop, StoppedWhileStarting, type StopSignals } from './stop-signals.ts';

/** The part of the drain time that is kept for closing what is left. */
const CLOSING_MS = 1_500;

/** After the first requests have had their answers, and before anybody looks at what the server takes at rest. */
const RELEASE_MEMORY_AFTER_MS = 10_000;

type MakeService = (parts: ServerDependencies) => Promise<ServedService>;

/** Loaded while the database opens. */
const makers: Record<Service, () => Promise<MakeService>> = {
  platform: async () => (await import('./serve-platform.ts')).servePlatform,
  domains: async () => (await import('./serve-domains.ts')).serveDomains,
};

const serviceTitles: Record<Service, string> = { platform: 'agent platform', domains: 'domain service' };

/**
 * Serves until a signal and returns the exit code. A signal that comes earlier ends the start between two of its steps.
 * Rejects, having closed what it opened, when it cannot start.
 */
export async function serve(services: readonly Service[], stop: StopSignals = listenForStop()): Promise<number> {
  const config = loadConfig();
  const logger = createLogger(config, await openLogOutput(config.logFormat, process.stderr.isTTY === true));
  reportProcess(logger);
  const group = joinProcesses();
  if (tellsItsSteps()) warnOfSettings(config, logger);
  endInTime(config, logger, stop);
  await using opened = new AsyncDisposableStack();
  try {
    const running = await start({ config, logger, services, stop, group }, opened);
    await runUntilStopped({ config, logger, running }, stop);
  } catch (error) {
    if (!(error instanceof StoppedWhileStarting)) throw error;
    logger.info(error.message);
  }
  await opened.disposeAsync();
  logger.info('stopped');
  return EXIT_OK;
}

function warnOfSettings(config: Config, logger: Logger): void {
  for (const name of config.unknownVariables) logger.warn({ name }, 'no setting has this name: see --help');
  if (exposesPrivateNetwork(config)) logger.warn({ fix: PRIVATE_NETWORK_EXPOSED.fix }, PRIVATE_NETWORK_EXPOSED.problem);
}

interface Start {
  readonly config: Config;
  readonly logger: Logger;
  readonly services: readonly Service[];
  readonly stop: StopSignals;
  /** Undefined: this process serves alone. */
  readonly group: ProcessGroup | undefined;
}

/** Leaves what it opens to the stack, so that it is closed wherever the start ends. */
async function start(
  { config, logger, services, stop, group }: Start,
  opened: AsyncDisposableStack,
): Promise<Running[]> {
  // Every port first: one that is in use is found before anything is made.
  const places: Place[] = [];
  for (const service of services) {
    const place = await holdPlace(config, service, group);
    opened.defer(() => place.held.release());
    places.push(place);
  }
  stop.throwIfReceived();
  // The store opens in a thread of its own, and the services are loaded in this one meanwhile.
  const opening = openStore(config, logger);
  opened.defer(async () => (await opening.catch(() => undefined))?.close());
  const loading = Promise.all(services.map((service) => makers[service]()));
  const [db, make] = await Promise.all([opening, loading]);
  const outbound = createOutbound({ allow: config.outboundAllow, logger });
  opened.defer(() => outbound.close());
  stop.throwIfReceived();
  const parts = { config, logger, db, outbound, ...(await prepareStore(config, logger, db)) };
  reportStep('services', services.map((service) => serviceTitles[service]).join(' and the '));
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
  let atRest: { stop(): void } | undefined;
  const timer = setTimeout(() => {
    // What takes long is done before somebody asks, and its garbage goes with the rest.
    for (const { served } of running) watch.ignoring(() => served.app.renderDocument());
    watch.ignoring(releaseMemory);
    atRest = releaseMemoryAtRest(() => watch.ignoring(releaseMemory));
  }, RELEASE_MEMORY_AFTER_MS).unref();
  opened.defer(async () => {
    clearTimeout(timer);
    atRest?.stop();
  });
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

async function openStore(config: Config, logger: Logger): Promise<Database> {
  const folder = join(config.dataDir, 'database');
  if (config.databaseUrl !== undefined) reportStep('server');
  else reportStep(holdsStore(join(folder, 'data')) ? 'store' : 'new-store', folder);
  return openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    poolSize: config.databasePoolSize,
    template: storeTemplate,
    logger,
  });
}

/** Where a service listens. */
interface Place {
  readonly service: Service;
  readonly host: string;
  readonly held: HeldPort;
  readonly publicUrl: string;
  readonly variable: string;
}

async function holdPlace(config: Config, service: Service, group: ProcessGroup | undefined): Promise<Place> {
  const { host } = config;
  const [own, variable] =
    service === 'platform' ? [config, 'IRONCRAFT_PORT'] : [config.domains, 'IRONCRAFT_DOMAINS_PORT'];
  // Of several processes the first one holds it for all, until the first of them listens.
  const held =
    group === undefined
      ? await holdPort(host, own.port, variable)
      : { port: own.port, release: () => group.freePorts() };
  const publicUrl = publicUrlFor({ host, publicUrl: own.publicUrl }, held.port);
  return { service, host, held, publicUrl, variable };
}

async function prepareStore(config: Config, logger: Logger, db: Database) {
  const pending = await listPending(db);
  if (pending.length > 0) reportStep('migrations', pending.length);
  for (const source of migrationSources) {
    const { applied } = await migrate(db, source);
    for (const name of applied) logger.info({ service: source.service, name }, 'migration applied');
  }
  return { vault: await openVault(config, db) };
}

interface Running {
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
  const metrics = createMetrics();
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

/** Returns once what was in flight has ended or been handed on. */
async function runUntilStopped(
  { config, logger, running }: { config: Config; logger: Logger; running: readonly Running[] },
  stop: StopSignals,
): Promise<void> {
  const signal = await stop.received;
  logger.info({ signal, drainMs: config.drainMs }, 'draining');
  for (const one of running) one.setServing(false);
  const timeoutMs = Math.max(config.drainMs - CLOSING_MS, config.drainMs / 2);
  await Promise.all(running.map(({ served }) => served.drain(timeoutMs)));
}

/** Past the drain time after a signal the process ends, whatever is left open. */
function endInTime(config: Config, logger: Logger, stop: StopSignals): void {
  void stop.received.then(() => {
    setTimeout(() => {
      logger.error('the server did not close in time: ending with connections open; turns go on from their last step');
      process.exit(EXIT_FAILURE);
    }, config.drainMs).unref();
  });
}
