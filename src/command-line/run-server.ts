/** The server process from its configuration to its end: one service, or all of them in one process. */
import { join } from 'node:path';
import { setTimer } from '../kernel/clock/timers.ts';
import { type Config, loadConfig } from '../kernel/config/config.ts';
import { exposesPrivateNetwork, PRIVATE_NETWORK_EXPOSED } from '../kernel/config/exposure.ts';
import type { Database } from '../kernel/db/database.ts';
import { holdsStore } from '../kernel/db/embedded-folder.ts';
import { openDatabase } from '../kernel/db/open-database.ts';
import { createLogger, type Logger } from '../kernel/log/log.ts';
import { openLogOutput } from '../kernel/log/open-log-output.ts';
import { bookkeepingTables } from './bookkeeping-tables.ts';
import { EXIT_FAILURE, EXIT_OK } from './command-error.ts';
import { storeTemplate } from './migrations.ts';
import { joinProcesses, tellsItsSteps } from './processes/join-processes.ts';
import { reportProcess } from './report-process.ts';
import type { Service } from './service-name.ts';
import { holdPlace, type Place } from './service-place.ts';
import type { Running, Start } from './start-services.ts';
import { reportStep } from './startup-steps.ts';
import { listenForStop, StoppedWhileStarting, type StopSignals } from './stop-signals.ts';

/** The part of the drain time that is kept for closing what is left. */
const CLOSING_MS = 1_500;

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

/**
 * Every port first: one that is in use is found before anything is made. Then the store, which opens in a thread of its own or on a
 * server while this one loads all that works with it. Leaves what it opens to the stack, so that it is closed wherever the start ends.
 */
async function start(
  {
    config,
    logger,
    services,
    stop,
    group,
  }: Omit<Start, 'places' | 'opening'> & { readonly services: readonly Service[] },
  opened: AsyncDisposableStack,
): Promise<readonly Running[]> {
  const places: Place[] = [];
  for (const service of services) {
    const place = await holdPlace(config, service, group);
    opened.defer(() => place.held.release());
    places.push(place);
  }
  stop.throwIfReceived();
  const opening = openStore(config, logger);
  opened.defer(async () => (await opening.catch(() => undefined))?.close());
  // It may fail before anybody waits for it.
  opening.catch(() => undefined);
  const { startServices } = await import('./start-services.ts');
  return startServices({ config, logger, places, opening, stop, group }, opened);
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
    bookkeeping: bookkeepingTables,
    logger,
  });
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
    setTimer(() => {
      logger.error('the server did not close in time: ending with connections open; turns go on from their last step');
      process.exit(EXIT_FAILURE);
    }, config.drainMs);
  });
}
