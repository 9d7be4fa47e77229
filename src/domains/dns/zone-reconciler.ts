/**
 * Makes what is served equal to the zones' rows: publishes a zone when a change of it commits, retries what failed, later each
 * time, and finds changes whose notification was missed. Every replica runs one; a lock for each zone keeps them apart.
 */

import pLimit from 'p-limit';
import type { Clock } from '../../kernel/clock/clock.ts';
import { setTimer, sleep } from '../../kernel/clock/timers.ts';
import type { Executor } from '../../kernel/db/database.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import type { DsRecord } from '../registry/registry.ts';
import { BUSY, bringUpToDate, type PublishOptions, publishZone, withZoneLock } from './publish-zone.ts';
import { findZone, ZONE_CHANGED, type ZoneRow } from './zone-store.ts';

export interface ZoneReconcilerLogger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ZoneReconcilerOptions extends PublishOptions {
  readonly clock: Clock;
  readonly logger: ZoneReconcilerLogger;
  /** How often to look for changes whose notification was missed, and for retries that are due. Default 2,000. */
  readonly sweepIntervalMs?: number;
}

export interface ZoneReconciler {
  /**
   * Publishes the zone now, if what is served lags behind its rows. Rejects with the publisher's error. Never inside a
   * transaction.
   */
  publishNow(zoneName: string): Promise<void>;
  /** Publishes and signs the zone; what its parent must hold. Repeating it changes nothing. Rejects as the publisher does. */
  sign(zoneName: string): Promise<readonly DsRecord[]>;
  /** Stops signing. Only once the parent has no DS record any more. */
  unsign(zoneName: string): Promise<void>;
  /** Publishes the zone, and has it signed with a key more. See `ZonePublisher`, as for `retireKeys`. */
  addKey(zoneName: string, known: readonly DsRecord[]): Promise<readonly DsRecord[]>;
  retireKeys(zoneName: string, kept: readonly DsRecord[]): Promise<void>;
  /** Publishes every zone that lags and whose retry is due; for tests, which control the clock. */
  sweep(): Promise<void>;
  start(): Promise<void>;
  /** Resolves when nothing is being published any more. */
  stop(): Promise<void>;
}

/** Zones that are published at a time. */
const CONCURRENCY = 4;
const SWEEP_SIZE = 200;
/** Of a zone that could not be published. */
const RETRY = { firstMs: 1_000, longestMs: 300_000 } as const;
/** How long to wait for another replica that has the zone's lock, and how often to try. */
const BUSY_LIMIT_MS = 30_000;
const BUSY_POLL_MS = 100;

interface Failing {
  readonly failures: number;
  readonly notBefore: number;
}

export function createZoneReconciler(options: ZoneReconcilerOptions): ZoneReconciler {
  return new Reconciler(options);
}

class Reconciler implements ZoneReconciler {
  readonly #options: ZoneReconcilerOptions;
  readonly #limit = pLimit(CONCURRENCY);
  /** Zones that wait to be published; each once. */
  readonly #waiting = new Set<string>();
  readonly #failing = new Map<string, Failing>();
  readonly #runs = new Set<Promise<void>>();
  readonly #sweeps: PeriodicWorker;
  #unlisten: (() => Promise<void>) | undefined;
  #stopped = false;

  constructor(options: ZoneReconcilerOptions) {
    this.#options = options;
    this.#sweeps = createPeriodicWorker({
      name: 'zones',
      intervalMs: options.sweepIntervalMs ?? 2_000,
      store: options.db,
      // Does not wait for the publishing: a nameserver that hangs keeps no other zone from being found.
      pass: () => this.#wakeLagging(),
      logger: options.logger,
    });
  }

  async start(): Promise<void> {
    const sweepSoon = () => this.#sweeps.wake();
    this.#unlisten = await this.#options.db.listen(ZONE_CHANGED, (name) => this.#wake(name), sweepSoon);
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#unlisten?.();
    await this.#sweeps.stop();
    await this.#settle();
  }

  async sweep(): Promise<void> {
    if (this.#stopped) return;
    await this.#sweeps.runPass();
    await this.#settle();
  }

  async publishNow(zoneName: string): Promise<void> {
    await retryWhileBusy(() => publishZone(this.#options, zoneName));
  }

  sign(zoneName: string): Promise<readonly DsRecord[]> {
    return this.#withPublishedZone(zoneName, ({ name }) => this.#options.publisher.sign(name));
  }

  unsign(zoneName: string): Promise<void> {
    return this.#withPublishedZone(zoneName, ({ name }) => this.#options.publisher.unsign(name));
  }

  addKey(zoneName: string, known: readonly DsRecord[]): Promise<readonly DsRecord[]> {
    return this.#withPublishedZone(zoneName, ({ name }) => this.#options.publisher.addKey(name, known));
  }

  retireKeys(zoneName: string, kept: readonly DsRecord[]): Promise<void> {
    return this.#withPublishedZone(zoneName, ({ name }) => this.#options.publisher.retireKeys(name, kept));
  }

  #withPublishedZone<T>(zoneName: string, work: (zone: ZoneRow) => Promise<T>): Promise<T> {
    const publishThenWork = async (executor: Executor) => {
      const zone = await findZone(executor, zoneName);
      if (zone === undefined || zone.isClosed) throw new Error(`there is no zone ${zoneName}`);
      await bringUpToDate(this.#options, executor, zone);
      return work(zone);
    };
    return retryWhileBusy(() => withZoneLock(this.#options.db, zoneName, publishThenWork));
  }

  async #wakeLagging(): Promise<void> {
    this.#dropOldFailures();
    for (const name of await this.#findLagging()) this.#wake(name);
  }

  async #findLagging(): Promise<string[]> {
    const { rows } = await this.#options.db.query<{ name: string }>({
      text: `select name from domains.zones where published_version < version order by updated_at limit $1`,
      values: [SWEEP_SIZE],
    });
    return rows.map(({ name }) => name);
  }

  #wake(name: string): void {
    const now = this.#options.clock.now().getTime();
    const isTooSoon = (this.#failing.get(name)?.notBefore ?? 0) > now;
    if (this.#stopped || isTooSoon || this.#waiting.has(name)) return;
    this.#waiting.add(name);
    const run = this.#limit(() => this.#publishWaiting(name)).finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  async #publishWaiting(name: string): Promise<void> {
    // From here on a change is not seen by this run any more: it has to wait for another.
    this.#waiting.delete(name);
    if (!this.#stopped) await this.#publish(name);
  }

  async #publish(name: string): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      // Another replica may have read the zone before this change: it then still lags, and the sweep finds it.
      await publishZone(this.#options, name);
      this.#failing.delete(name);
    } catch (error) {
      const failures = (this.#failing.get(name)?.failures ?? 0) + 1;
      const waitMs = backoffMs(failures, RETRY);
      this.#failing.set(name, { failures, notBefore: clock.now().getTime() + waitMs });
      // Nothing that the store tells: the sweeps may be far apart.
      setTimer(() => this.#sweeps.wake(), waitMs);
      logger.warn({ err: error, zone: name, failures, waitMs }, 'a zone could not be published; it is tried again');
    }
  }

  /** Of zones that are gone, or that another replica has published meanwhile. */
  #dropOldFailures(): void {
    const longAgo = this.#options.clock.now().getTime() - RETRY.longestMs;
    for (const [name, { notBefore }] of this.#failing) if (notBefore < longAgo) this.#failing.delete(name);
  }

  async #settle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs);
  }
}

async function retryWhileBusy<T>(attempt: () => Promise<T | typeof BUSY>): Promise<T> {
  for (let waitedMs = 0; waitedMs < BUSY_LIMIT_MS; waitedMs += BUSY_POLL_MS) {
    const result = await attempt();
    if (result !== BUSY) return result;
    await sleep(BUSY_POLL_MS);
  }
  throw new Error('another replica has been publishing the zone for too long');
}
