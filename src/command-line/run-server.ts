/** The server process from its configuration to its end: one service, or all of them in one process. */
import { type Config, loadConfig, publicUrlFor } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { migrate } from '../kernel/db/migrate.ts';
import { openDatabase } from '../kernel/db/open-database.ts';
import { mountHealth } from '../kernel/http/health.ts';
import { createLogger, type Logger } from '../kernel/log/log.ts';
import { openLogOutput } from '../kernel/log/open-log-output.ts';
import { createMetrics } from '../kernel/metrics/metrics.ts';
import { type OperatorSocket, operatorSocketPath, startOperatorSocket } from '../kernel/operator/index.ts';
import { createOutbound, type Outbound } from '../kernel/outbound/outbound.ts';
import { EXIT_FAILURE, EXIT_OK } from './command-error.ts';
import { explainListenError, type HeldPort, holdPort } from './hold-port.ts';
import { migrationSources, storeTemplate } from './migrations.ts';
import { openVault } from './open-store.ts';
import { releaseStartupMemory } from './release-startup-memory.ts';
import { serveDomains } from './serve-domains.ts';
import { servePlatform } from './serve-platform.ts';
import type { ServedService, ServerParts } from './served-service.ts';
import { type Service, serviceName } from './service-name.ts';
import { readSourceCommit, sourceRoot } from './source-commit.ts';
import { listenForStop, type StopSignals } from './stop-signals.ts';

/** The part of the drain time that is kept for closing what is left. */
const CLOSING_MS = 1_500;

const makers: Record<Service, (parts: ServerParts) => Promise<ServedService>> = {
  platform: servePlatform,
  domains: serveDomains,
};

/** Serves until a signal and returns the exit code. Rejects, having closed what it opened, when it cannot start. */
export async function serve(services: readonly Service[]): Promise<number> {
  const config = loadConfig();
  const logger = createLogger(config, await openLogOutput(config.logFormat, process.stderr.isTTY === true));
  reportProcess(logger);
  const stop = listenForStop();
  for (const name of config.unknownVariables) logger.warn({ name }, 'no setting has this name: see --help');
  const db = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    poolSize: config.databasePoolSize,
    template: storeTemplate,
    logger,
  });
  const outbound = createOutbound({ allow: config.outboundAllow });
  const running: Running[] = [];
  let operator: OperatorSocket | undefined;
  try {
    try {
      // Every port first: one that is in use is found before anything is made.
      const places = [];
      for (const service of services) places.push(await holdPlace(config, service));
      const process_ = { config, logger, db, outbound, ...(await prepareStore(config, logger, db)) };
      for (const place of places) running.push(await prepare(process_, place));
      for (const one of running) await listen(one);
      operator = await openOperatorSocket(config, logger, db, running);
      stop.beginServing();
      for (const one of running) process.stdout.write(welcome(one));
      await runUntilStopped({ config, logger, running }, stop);
    } finally {
      await operator?.close();
      await Promise.all(running.map(({ served }) => served.stop()));
    }
    logger.info('stopped');
    return EXIT_OK;
  } finally {
    await outbound.close();
    await db.close();
  }
}

/** Where a service listens. */
interface Place {
  readonly service: Service;
  readonly host: string;
  readonly held: HeldPort;
  readonly publicUrl: string;
  readonly variable: string;
}

async function holdPlace(config: Config, service: Service): Promise<Place> {
  const { host } = config;
  const [own, variable] =
    service === 'platform' ? [config, 'IRONCRAFT_PORT'] : [config.domains, 'IRONCRAFT_DOMAINS_PORT'];
  const held = await holdPort(host, own.port, variable);
  const publicUrl = publicUrlFor({ host, publicUrl: own.publicUrl }, held.port);
  return { service, host, held, publicUrl, variable };
}

async function prepareStore(config: Config, logger: Logger, db: Database) {
  for (const source of migrationSources) {
    const { applied } = await migrate(db, source);
    for (const name of applied) logger.info({ service: source.service, name }, 'migration applied');
  }
  return { vault: await openVault(config, db) };
}

interface Running {
  readonly place: Place;
  readonly served: ServedService;
  /** Makes the service say that it is not ready any more. */
  beginDraining(): void;
}

type ProcessParts = Omit<ServerParts, 'metrics' | 'publicUrl'> & { readonly outbound: Outbound };

/** Everything up to the open port. */
async function prepare(parts: ProcessParts, place: Place): Promise<Running> {
  const metrics = createMetrics();
  const served = await makers[place.service]({ ...parts, metrics, publicUrl: place.publicUrl });
  let isDraining = false;
  mountHealth(served.app, {
    service: serviceName(place.service),
    commit: readSourceCommit(sourceRoot),
    checks: { db: () => parts.db.ping() },
    metrics,
    isDraining: () => isDraining,
  });
  return {
    place,
    served,
    beginDraining() {
      isDraining = true;
    },
  };
}

async function listen({ place, served }: Running): Promise<void> {
  const { host, held, variable } = place;
  const { port } = held;
  await served.app.ready();
  await served.start();
  releaseStartupMemory();
  await held.release();
  try {
    await served.app.listen({ host, port });
  } catch (error) {
    throw error instanceof Error ? explainListenError(error, host, port, variable) : error;
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

/** Said once everything listens: whoever reads it may stop the server again. */
function welcome({ place: { host, held }, served }: Running): string {
  return served.welcome(publicUrlFor({ host, publicUrl: undefined }, held.port));
}

/** Returns once what was in flight has ended or been handed on. Past the drain time the process ends, whatever is left open. */
async function runUntilStopped(
  { config, logger, running }: { config: Config; logger: Logger; running: readonly Running[] },
  stop: StopSignals,
): Promise<void> {
  const signal = await stop.received;
  logger.info({ signal, drainMs: config.drainMs }, 'draining');
  for (const one of running) one.beginDraining();
  setTimeout(() => {
    logger.error('the server did not close in time: ending with connections open; turns go on from their last step');
    process.exit(EXIT_FAILURE);
  }, config.drainMs).unref();
  const timeoutMs = Math.max(config.drainMs - CLOSING_MS, config.drainMs / 2);
  await Promise.all(running.map(({ served }) => served.drain(timeoutMs)));
}

/** What goes wrong outside every request is logged like the rest, and ends the process: its state is not known any more. */
function reportProcess(logger: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error, origin }, 'unexpected error: ending');
    process.exit(EXIT_FAILURE);
  });
  process.removeAllListeners('warning');
  process.on('warning', (warning) =>
    logger.warn({ name: warning.name, detail: warning.message }, 'warning of the runtime'),
  );
  // Whoever read the first lines and left has not asked the server to end.
  process.stdout.on('error', () => undefined);
}
