/** The server process from its configuration to its end. */
import { join } from 'node:path';
import { pino } from 'pino';
import { createFolderBlobStore } from '../kernel/blobs/folder-blob-store.ts';
import { systemClock } from '../kernel/clock/clock.ts';
import { type Config, loadConfig, publicUrlFor } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { migrate } from '../kernel/db/migrate.ts';
import { openDatabase } from '../kernel/db/open-database.ts';
import { mountHealth } from '../kernel/http/health.ts';
import { createLogger, type Logger } from '../kernel/log/log.ts';
import { createMetrics } from '../kernel/metrics/metrics.ts';
import { createOutbound, type Outbound } from '../kernel/outbound/outbound.ts';
import { createPlatform, type Platform } from '../platform/app.ts';
import { credentialsPath } from '../platform/boot/credentials-file.ts';
import { bootFirst, type FirstBoot } from '../platform/boot/first-boot.ts';
import { EXIT_FAILURE, EXIT_OK } from './command-error.ts';
import { explainListenError, type HeldPort, holdPort } from './hold-port.ts';
import { migrationSources } from './migrations.ts';
import { openVault, proveVault } from './open-store.ts';
import { releaseStartupMemory } from './release-startup-memory.ts';
import { SERVICE_NAME } from './service-name.ts';
import { readSourceCommit, sourceRoot } from './source-commit.ts';
import { listenForStop, type StopSignals } from './stop-signals.ts';
import { renderWelcome } from './welcome.ts';

/** The part of the drain time that is kept for closing what is left. */
const CLOSING_MS = 1_500;

/** Serves until a signal and returns the exit code. Rejects, having closed what it opened, when it cannot start. */
export async function serve(): Promise<number> {
  const config = loadConfig();
  const logger = createLogger(config, pino.destination({ dest: 2, sync: true }));
  reportProcess(logger);
  const stop = listenForStop();
  for (const name of config.unknownVariables) logger.warn({ name }, 'no setting has this name: see --help');
  const db = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    poolSize: config.databasePoolSize,
    logger,
  });
  const outbound = createOutbound({ allow: config.outboundAllow });
  try {
    const held = await holdPort(config.host, config.port);
    const server = await prepare({ config, logger, db, outbound, publicUrl: publicUrlFor(config, held.port) });
    try {
      await listen(server, held);
      await runUntilStopped(server, stop);
    } finally {
      await server.platform.stop();
    }
    logger.info('stopped');
    return EXIT_OK;
  } finally {
    await outbound.close();
    await db.close();
  }
}

interface ServerParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly db: Database;
  readonly outbound: Outbound;
  readonly publicUrl: string;
}

interface Server extends ServerParts {
  readonly platform: Platform;
  readonly boot: FirstBoot;
  /** Makes the server say that it is not ready any more. */
  beginDraining(): void;
}

/** Everything up to the open port: schema, vault, platform, first boot. */
async function prepare(parts: ServerParts): Promise<Server> {
  const { config, logger, db, publicUrl } = parts;
  for (const source of migrationSources) {
    const { applied } = await migrate(db, source);
    for (const name of applied) logger.info({ service: source.service, name }, 'migration applied');
  }
  const vault = await openVault(config, db);
  const metrics = createMetrics();
  const blobs = createFolderBlobStore(join(config.dataDir, 'files'));
  const platform = await createPlatform({ ...parts, blobs, vault, metrics, clock: systemClock });
  const boot = await bootFirst({ db, issuer: platform.issuer, dataDir: config.dataDir, baseUrl: publicUrl });
  // Another replica may have set the database up since the vault was opened.
  await proveVault(db, vault);
  let isDraining = false;
  mountHealth(platform.app, {
    service: SERVICE_NAME,
    commit: readSourceCommit(sourceRoot),
    checks: { db: () => db.ping() },
    metrics,
    isDraining: () => isDraining,
  });
  return {
    ...parts,
    platform,
    boot,
    beginDraining() {
      isDraining = true;
    },
  };
}

async function listen({ config, platform, boot, publicUrl }: Server, held: HeldPort): Promise<void> {
  const { host } = config;
  const { port } = held;
  await platform.app.ready();
  // First, so that no turn is started by a replica that is not registered.
  await platform.start();
  releaseStartupMemory();
  await held.release();
  try {
    await platform.app.listen({ host, port });
  } catch (error) {
    throw error instanceof Error ? explainListenError(error, host, port) : error;
  }
  const localUrl = publicUrlFor({ host, publicUrl: undefined }, port);
  process.stdout.write(renderWelcome({ publicUrl, localUrl, credentialsPath: credentialsPath(config.dataDir), boot }));
}

/** Returns once the turns in flight have ended or been handed on. Past the drain time the process ends, whatever is left open. */
async function runUntilStopped(server: Server, stop: StopSignals): Promise<void> {
  const { config, logger, platform } = server;
  stop.beginServing();
  const signal = await stop.received;
  logger.info({ signal, drainMs: config.drainMs }, 'draining');
  server.beginDraining();
  setTimeout(() => {
    logger.error('the server did not close in time: ending with connections open; turns go on from their last step');
    process.exit(EXIT_FAILURE);
  }, config.drainMs).unref();
  await platform.drain(Math.max(config.drainMs - CLOSING_MS, config.drainMs / 2));
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
