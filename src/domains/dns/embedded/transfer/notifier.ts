/**
 * Tells the secondaries of every change of a zone, by whichever replica comes first.
 *
 *   change commits: notified_version < version ──▶ claimed (notify_due_at lies ahead) ──▶ all acknowledge: notified_version = version
 *                        ▲                                  │ some do not: tried again, later each time
 *                        └──────────────────────────────────┘ after the last try: their refresh (SOA) finds the change
 *
 * One claim a zone, so that a burst of changes is told twice at most: of its first, and of what came while that was told.
 */

import pLimit from 'p-limit';
import type { Clock } from '../../../../kernel/clock/clock.ts';
import type { Database } from '../../../../kernel/db/database.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../../kernel/periodic/periodic-worker.ts';
import { splitDue } from '../../../../kernel/periodic/split-due.ts';
import { backoffMs } from '../../../../kernel/retry/backoff.ts';
import { ZONE_CHANGED } from '../../zone-store.ts';
import type { SecondaryOptions } from './secondaries.ts';
import { sendNotify } from './send-notify.ts';

export interface NotifierOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly host: string;
  readonly secondaries: readonly SecondaryOptions[];
  readonly logger: { error(fields: object, message: string): void };
  readonly timing?: NotifyTiming;
}

export interface NotifyTiming {
  /** How long to wait for an acknowledgement. Default 3,000. */
  readonly timeoutMs: number;
  /** After the first try; doubled with each further one. Default 2,000. */
  readonly retryMs: number;
  /** How often to look for what is due. Default 5,000. */
  readonly sweepIntervalMs: number;
}

const TIMING: NotifyTiming = { timeoutMs: 3_000, retryMs: 2_000, sweepIntervalMs: 5_000 };
const LONGEST_RETRY_MS = 300_000;

export interface Notifier {
  start(): Promise<void>;
  /** Resolves when nobody is being told any more. */
  stop(): Promise<void>;
}

const SWEEP_SIZE = 100;
const CONCURRENCY = 8;
/** Of a replica that ends while it tells. */
const LEASE_MS = 30_000;
/** Over some half an hour; the refresh of the SOA record comes after three. */
const MOST_ATTEMPTS = 12;

interface Claim {
  readonly version: number;
  readonly notify_attempts: number;
}

export function createNotifier(options: NotifierOptions): Notifier {
  return new ZoneNotifier(options);
}

class ZoneNotifier implements Notifier {
  readonly #options: NotifierOptions;
  readonly #limit = pLimit(CONCURRENCY);
  readonly #runs = new Map<string, Promise<void>>();
  /** Those that have acknowledged a version which others have not. */
  readonly #told = new Map<string, { readonly version: number; readonly secondaries: Set<SecondaryOptions> }>();
  readonly #sweeps: PeriodicWorker;
  readonly #timing: NotifyTiming;
  #unlisten: (() => Promise<void>) | undefined;
  #stopped = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    const pass = () => this.#wakeDue();
    const { logger, timing = TIMING } = options;
    this.#timing = timing;
    this.#sweeps = createPeriodicWorker({
      name: 'secondaries',
      intervalMs: timing.sweepIntervalMs,
      store: options.db,
      pass,
      logger,
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
    await Promise.all(this.#runs.values());
  }

  async #wakeDue(): Promise<number | undefined> {
    const { rows } = await this.#options.db.query<{ name: string; notify_due_at: Date | null }>({
      text: `select name, notify_due_at from domains.zones where ${LAGS} order by notify_due_at nulls first limit $1`,
      values: [SWEEP_SIZE],
    });
    const { due, nextInMs } = splitDue(rows, (row) => row.notify_due_at, this.#options.clock.now());
    for (const { name } of due) this.#wake(name);
    return nextInMs;
  }

  #wake(name: string): void {
    if (this.#stopped || this.#runs.has(name)) return;
    const run = this.#limit(() => this.#tell(name))
      .catch((error: unknown) => this.#options.logger.error({ err: error, zone: name }, 'secondaries were not told'))
      .finally(() => this.#runs.delete(name));
    this.#runs.set(name, run);
  }

  /** Until there is nothing to tell, or it is to be told later. */
  async #tell(name: string): Promise<void> {
    while (!this.#stopped) {
      const claim = await this.#claim(name);
      if (claim === undefined) return;
      const failures = await this.#tellAll(name, claim.version);
      const isOver = failures.length === 0 || claim.notify_attempts >= MOST_ATTEMPTS;
      if (isOver) this.#told.delete(name);
      if (isOver && failures.length > 0) {
        this.#options.logger.error(
          { err: failures[0], zone: name },
          'a secondary does not acknowledge changes of a zone',
        );
      }
      await this.#release(name, claim, isOver);
    }
  }

  async #tellAll(zoneName: string, version: number): Promise<unknown[]> {
    const { clock, host, secondaries } = this.#options;
    const before = this.#told.get(zoneName);
    const told = before?.version === version ? before : { version, secondaries: new Set<SecondaryOptions>() };
    this.#told.set(zoneName, told);
    const nowSeconds = Math.floor(clock.now().getTime() / 1_000);
    const waiting = secondaries.filter((secondary) => !told.secondaries.has(secondary));
    const results = await Promise.allSettled(
      waiting.map(async (secondary) => {
        await sendNotify({ zoneName, secondary, host, nowSeconds, timeoutMs: this.#timing.timeoutMs });
        told.secondaries.add(secondary);
      }),
    );
    return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  }

  async #claim(name: string): Promise<Claim | undefined> {
    const now = this.#options.clock.now();
    const { rows } = await this.#options.db.query<Claim>({
      text: `update domains.zones set notify_due_at = $2, notify_attempts = notify_attempts + 1
        where name = $1 and ${LAGS} and (notify_due_at is null or notify_due_at <= $3)
        returning version, notify_attempts`,
      values: [name, new Date(now.getTime() + LEASE_MS), now],
    });
    return rows[0];
  }

  async #release(name: string, { version, notify_attempts }: Claim, isOver: boolean): Promise<void> {
    const retry = { firstMs: this.#timing.retryMs, longestMs: LONGEST_RETRY_MS };
    const dueAt = new Date(this.#options.clock.now().getTime() + backoffMs(notify_attempts, retry));
    await this.#options.db.query({
      text: isOver
        ? `update domains.zones set notified_version = greatest(notified_version, $2), notify_due_at = null, notify_attempts = 0
            where name = $1`
        : 'update domains.zones set notify_due_at = case when version = $2 then $3::timestamptz end where name = $1',
      values: isOver ? [name, version] : [name, version, dueAt],
    });
  }
}

const LAGS = 'notified_version < version and not is_closed and not is_withdrawn';
