/**
 * Several processes that serve as one: they listen on the same ports, between which Node shares out the connections, and
 * each is a replica of its own beside that. The first process serves nothing: it starts the others, replaces those that end,
 * adds up their metrics, and stops them together.
 *
 * One is started before the rest: what a first start makes (tables, credentials) is made once, and what cannot start says so once.
 */
import cluster, { type Worker } from 'node:cluster';
import { elapsedMs, setTimer, sleep } from '../../kernel/clock/timers.ts';
import { type Config, loadConfig } from '../../kernel/config/config.ts';
import { createLogger, type Logger } from '../../kernel/log/log.ts';
import { openLogOutput } from '../../kernel/log/open-log-output.ts';
import { EXIT_FAILURE, EXIT_OK } from '../command-error.ts';
import { type HeldPort, holdPort } from '../hold-port.ts';
import { reportProcess } from '../report-process.ts';
import type { Service } from '../service-name.ts';
import { listenForStop, StoppedWhileStarting, type StopSignals } from '../stop-signals.ts';
import type { FromFirst, FromServing } from './messages.ts';
import { createMetricsSum, type MetricsSum } from './metrics-sum.ts';

/** Before one that has ended is replaced: doubled while it goes on ending. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** One that has lived so long did not end of how it was started. */
const LASTING_MS = 60_000;
/** Beyond the drain time, before what has not ended by itself is killed. */
const KILL_AFTER_MS = 2_000;

interface ProcessesOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly stop: StopSignals;
}

/** Has others serve until a signal, or until it turns out that nothing can be started. Returns the exit code. */
export async function serve(services: readonly Service[], stop: StopSignals = listenForStop()): Promise<number> {
  const config = loadConfig();
  const logger = createLogger(config, await openLogOutput(config.logFormat, process.stderr.isTTY === true));
  reportProcess(logger);
  const ports = await holdPorts(config, services);
  try {
    stop.throwIfReceived();
    return await new Processes({ config, logger, stop }, ports).run();
  } catch (error) {
    if (!(error instanceof StoppedWhileStarting)) throw error;
    logger.info(error.message);
    return EXIT_OK;
  } finally {
    await ports.release();
  }
}

interface HeldPorts {
  /** So that every process listens on the same ones. */
  readonly environment: Readonly<Record<string, string>>;
  release(): Promise<void>;
}

async function holdPorts(config: Config, services: readonly Service[]): Promise<HeldPorts> {
  const held: HeldPort[] = [];
  const environment: Record<string, string> = {};
  for (const service of services) {
    const [port, variable] =
      service === 'platform' ? [config.port, 'IRONCRAFT_PORT'] : [config.domains.port, 'IRONCRAFT_DOMAINS_PORT'];
    const place = await holdPort(config.host, port, variable);
    environment[variable] = String(place.port);
    held.push(place);
  }
  return {
    environment,
    async release() {
      for (const place of held.splice(0)) await place.release();
    },
  };
}

class Processes {
  readonly #options: ProcessesOptions;
  readonly #ports: HeldPorts;
  /** Processes that were started and have not exited. A process closes its connection before it exits, so this counts more than `isConnected`. */
  readonly #running = new Set<Worker>();
  readonly #serving = new Set<number>();
  readonly #ended = Promise.withResolvers<number>();
  readonly #sum: MetricsSum;
  #welcome: string | undefined;
  #allServe = false;
  readonly #stopping = new AbortController();
  #exitCode = EXIT_OK;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(options: ProcessesOptions, ports: HeldPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#sum = createMetricsSum(() => [...this.#running].filter((worker) => worker.isConnected()));
  }

  run(): Promise<number> {
    // Numbers that JSON has no word for stand in metrics.
    cluster.setupPrimary({ args: process.argv.slice(2), serialization: 'advanced' });
    this.#start();
    void this.#options.stop.received.then((signal) => this.#stop(signal));
    return this.#ended.promise;
  }

  #start(): void {
    const startedMs = elapsedMs();
    let worker: Worker;
    try {
      worker = cluster.fork(this.#ports.environment);
    } catch (error) {
      this.#noteUnstarted(error);
      return;
    }
    this.#running.add(worker);
    worker.on('message', (message: FromServing) => this.#hear(worker, message));
    worker.once('exit', (code, signal) => this.#noteEnd(worker, { code, signal, livedMs: elapsedMs() - startedMs }));
    worker.on('error', (error) => {
      // Has none that the system did not start: no end of it will be told.
      if (worker.process.pid !== undefined) return;
      this.#running.delete(worker);
      this.#noteUnstarted(error);
    });
  }

  /** The system has no memory, files or processes left for one more. */
  #noteUnstarted(error: unknown): void {
    const { logger } = this.#options;
    if (this.#stopping.signal.aborted) {
      this.#endAfterLast();
      return;
    }
    if (this.#isFirst()) {
      logger.fatal({ err: error }, 'no process could be started');
      this.#ended.resolve(EXIT_FAILURE);
      return;
    }
    const pauseMs = this.#takePause(0);
    logger.error({ err: error, inMs: pauseMs }, 'a process could not be started; this is tried again');
    void this.#startIn(pauseMs);
  }

  #isFirst(): boolean {
    return this.#welcome === undefined;
  }

  #hear(worker: Worker, message: FromServing): void {
    switch (message.type) {
      case 'listening':
        void this.#ports.release().then(() => tell(worker, { type: 'ports free' }));
        break;
      case 'serving':
        this.#noteServing(worker, message.welcome);
        break;
      case 'metrics': {
        const { id, service } = message;
        this.#sum.render(service).then(
          (text) => tell(worker, { type: 'metrics', id, text }),
          (error: unknown) =>
            this.#options.logger.error({ err: error }, 'the metrics of all processes were not added up'),
        );
        break;
      }
      case 'snapshot':
        this.#sum.take(worker.id, message);
        break;
    }
  }

  #noteServing(worker: Worker, welcome: string): void {
    const { config, logger } = this.#options;
    const { processes: count } = config;
    this.#serving.add(worker.id);
    if (this.#welcome === undefined) {
      this.#welcome = welcome;
      for (let started = 1; started < count && !this.#stopping.signal.aborted; started += 1) this.#start();
    }
    if (this.#allServe) tell(worker, { type: 'all serve' });
    else if (this.#serving.size >= count) {
      this.#allServe = true;
      for (const each of this.#running) tell(each, { type: 'all serve' });
      logger.info({ processes: count }, 'every process serves');
      process.stdout.write(this.#welcome);
    }
  }

  #noteEnd(worker: Worker, end: { readonly code: number; readonly signal: string; readonly livedMs: number }): void {
    this.#running.delete(worker);
    this.#serving.delete(worker.id);
    if (this.#stopping.signal.aborted) {
      if (end.code !== EXIT_OK) this.#exitCode = EXIT_FAILURE;
      this.#endAfterLast();
      return;
    }
    if (this.#isFirst()) {
      // It has said why.
      this.#ended.resolve(end.code === EXIT_OK ? EXIT_OK : EXIT_FAILURE);
      return;
    }
    const pauseMs = this.#takePause(end.livedMs);
    this.#options.logger.error(
      { pid: worker.process.pid, code: end.code, signal: end.signal, inMs: pauseMs },
      'a process has ended and is replaced; its turns go on in the others',
    );
    void this.#startIn(pauseMs);
  }

  #takePause(livedMs: number): number {
    const pauseMs = livedMs >= LASTING_MS ? FIRST_PAUSE_MS : this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    return pauseMs;
  }

  /** Keeps this process alive meanwhile: the others may all have ended. */
  async #startIn(pauseMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(pauseMs, signal).catch(() => undefined);
    if (!signal.aborted) this.#start();
  }

  #endAfterLast(): void {
    if (this.#running.size === 0) this.#ended.resolve(this.#exitCode);
  }

  #stop(signal: NodeJS.Signals): void {
    this.#stopping.abort();
    this.#endAfterLast();
    for (const worker of this.#running) tell(worker, { type: 'stop', signal });
    setTimer(() => {
      this.#exitCode = EXIT_FAILURE;
      for (const worker of this.#running) worker.process.kill('SIGKILL');
    }, this.#options.config.drainMs + KILL_AFTER_MS);
  }
}

/** One that is ending hears nothing more, which is no fault. */
function tell(worker: Worker, message: FromFirst): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
