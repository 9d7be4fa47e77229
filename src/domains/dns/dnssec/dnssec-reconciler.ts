/** Carries out requests to switch DNSSEC on or off. Every replica runs one; leases keep them apart. */
import { millisecondsUntil } from '../../../kernel/periodic/next-due.ts';
import { createPeriodicWorker, type PeriodicWorker, SPARE_LOOK_MS } from '../../../kernel/periodic/periodic-worker.ts';
import { advanceDnssec } from './advance-dnssec.ts';
import type { DnssecContext } from './dnssec-step.ts';
import { claimDueZone } from './dnssec-store.ts';
import { renewSerials } from './renew-serials.ts';
import { DNSSEC_REQUESTED } from './request-dnssec.ts';
import { rollOldKeys } from './request-roll.ts';

export interface DnssecReconcilerOptions extends Omit<DnssecContext, 'dsTtlMs'> {
  /** Default 24 hours: no registry that we know of gives its DS records a longer TTL. */
  readonly dsTtlMs?: number;
  /** A key that is older is changed. Default: none is by itself. */
  readonly keyLifetimeMs?: number | undefined;
  /** How often to look for zones whose time has come. Default 5,000. */
  readonly sweepIntervalMs?: number;
}

export interface DnssecReconciler {
  /**
   * Takes every zone that is due as far as it gets now; how many times a zone was taken up. Rejects when the database
   * fails. Takes up no further zone once the signal is aborted.
   */
  advanceDue(signal?: AbortSignal): Promise<number>;
  start(): Promise<void>;
  /** Resolves when no zone is being worked on any more. */
  stop(): Promise<void>;
}

const DS_TTL_MS = 86_400_000;
/** Zones that are worked on at a time. */
const CONCURRENCY = 4;

export function createDnssecReconciler(options: DnssecReconcilerOptions): DnssecReconciler {
  return new Reconciler({ ...options, dsTtlMs: options.dsTtlMs ?? DS_TTL_MS });
}

class Reconciler implements DnssecReconciler {
  readonly #context: DnssecContext;
  readonly #keyLifetimeMs: number | undefined;
  readonly #worker: PeriodicWorker;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(options: DnssecReconcilerOptions & DnssecContext) {
    const context = options;
    this.#context = context;
    this.#keyLifetimeMs = options.keyLifetimeMs;
    this.#worker = createPeriodicWorker({
      name: 'dnssec',
      intervalMs: options.sweepIntervalMs ?? 5_000,
      store: context.db,
      quietMs: SPARE_LOOK_MS,
      pass: async (signal) => (await this.#advanceAll(signal)).nextInMs,
      logger: context.logger,
    });
  }

  async start(): Promise<void> {
    const wake = () => this.#worker.wake();
    this.#unlisten = await this.#context.db.listen(DNSSEC_REQUESTED, wake, wake);
    this.#worker.start();
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    await this.#worker.stop();
  }

  async advanceDue(signal?: AbortSignal): Promise<number> {
    return (await this.#advanceAll(signal)).count;
  }

  async #advanceAll(signal: AbortSignal | undefined) {
    const { clock, db, publisher } = this.#context;
    if (publisher.supportsDnssec) await renewSerials(db, clock.now());
    if (this.#keyLifetimeMs !== undefined && publisher.supportsDnssec) {
      await rollOldKeys(db, new Date(clock.now().getTime() - this.#keyLifetimeMs));
    }
    let count = 0;
    let nextLookAt: Date | undefined;
    const workers: Promise<void>[] = [];
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (;;) {
        if (signal?.aborted === true) return;
        const { zone, nextLookAt: later } = await claimDueZone(db, clock.now());
        if (zone === undefined) {
          nextLookAt = later;
          return;
        }
        // Where there is one there may be more; a sweep that finds nothing costs one query.
        if (workers.length < CONCURRENCY) addWorker();
        count += 1;
        await advanceDnssec(this.#context, zone);
      }
    };
    // Caught here: one that fails while another is awaited would be an unhandled rejection, and end the process.
    const addWorker = () => workers.push(work().catch((error: unknown) => void failures.push(error)));
    addWorker();
    // Takes in those that are added meanwhile.
    for (const worker of workers) await worker;
    if (failures.length > 0) throw failures[0];
    return { count, nextInMs: millisecondsUntil(nextLookAt, clock.now()) };
  }
}
