/**
 * The worker of auto-renew. Each run examines every name whose term ends within 30 days, and moves its term one step on:
 *
 *            30 days before expiry          order placed: hold        registry answers
 *   not_due ──────────────────────▶ charging ───────────────▶ pending ───────────────▶ renewed ──▶ not_due (next term)
 *      │                            ▲  ▲  │                      │
 *      │ paid for as far ahead      │  │  │ wallet is short      │ registry refuses: hold released
 *      ▼ as is possible             │  │  ▼                      ▼
 *   capped                          │  └─ unpaid              failed ──┐
 *                                   │        │ 10 days before   │      │ after a while: 1 hour, doubled up to a day
 *   off ◀── auto-renew off, or ─────┘        ▼                  │      │
 *           release scheduled              lapsing ◀────────────┘◀─────┘
 *
 * It keeps no state in the process. A term's state follows from the row, the orders and the clock (`termOf`); what the
 * row holds beyond that is why the last attempt failed. Hence:
 *
 * - Restarts and missed runs: the next run sees the same. One that comes after the deadline charges nothing.
 * - Two workers: a term is sold once, by the index `orders_one_renewal_of_term`, whichever comes first.
 * - The clock is read anew at each decision. Whether it steps back or ahead, a term that has an order gets no second one.
 * - A toggle: the order is placed under the row's lock, which the toggle takes too, and only if the row still asks for it.
 * - A stale snapshot: the registry's own expiry is read before each charge, and names the term that is sold. Without the
 *   registry's answer nothing is charged.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import { type DomainRow, endOfPaidTerm, recordInfo } from '../portfolio/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { type Registry, type RegistryDomain, type RegistryFee, RegistryUnavailable } from '../registry/registry.ts';
import { zoneOf } from '../registry/routing-registry.ts';
import type { OrderState } from '../tables.ts';
import { readWallet } from '../wallet/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { type RenewalOffer, renewalOffer } from './renewal-offer.ts';
import { countRefusals, findRenewalOrder, type RenewalOrder } from './renewal-order-store.ts';
import { isRefusalOf, type Term, termOf } from './term.ts';
import { chargeHorizon } from './term-calendar.ts';
import { listEndingTerms, lockUnlessBusy, type Position, saveRenewalFee, saveTerm } from './term-store.ts';

export interface RenewalRequest {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  readonly origin: 'auto_renew';
  readonly years: number;
  readonly priceCents: number;
  /** What the registry asks, where it says so. */
  readonly fee: RegistryFee | undefined;
  /** The expiry that is moved, as the registry has just reported it. */
  readonly fromExpiresAt: Date;
  /**
   * Called with the domain's row once it is locked (`for update`), before anything is written, in the same transaction as
   * the order and its hold: turning auto-renew off comes either before, and this is false, or after the charge.
   */
  readonly isStillDue: (domain: DomainRow) => boolean;
}

export type PlacedRenewal =
  | { readonly orderId: string; readonly state: OrderState }
  | { readonly refused: 'insufficient_balance'; readonly requiredCents: number; readonly availableCents: number }
  /** An order for the term, or another renewal of the name, stands already. */
  | { readonly refused: 'in_progress' }
  /** `isStillDue` was false. */
  | { readonly refused: 'not_due' };

/** Inserts the order and its hold in one transaction; the order worker does the rest. */
export type PlaceRenewal = (request: RenewalRequest) => Promise<PlacedRenewal>;

export interface RenewalWorkerOptions {
  readonly db: Database;
  readonly registry: Pick<Registry, 'feeOf' | 'habitsOf' | 'info'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly placeRenewal: PlaceRenewal;
  readonly prices: PriceBook;
  /** Rows that are read at a time. Default 100. */
  readonly batchSize?: number;
}

export interface RenewalWorker {
  /**
   * Examines every term that is due, once. Any number of processes may do so at a time. Ends after the current name when
   * `signal` is aborted.
   */
  runDue(signal?: AbortSignal): Promise<RenewalRun>;
}

export interface RenewalRun {
  readonly looked: number;
  readonly charged: number;
  /** False: the registry did not answer, or the run was aborted; the rest waits for the next run. */
  readonly isComplete: boolean;
}

/** After so many unanswered calls in a row the registry counts as unreachable, and the run ends. */
const UNANSWERED_LIMIT = 3;
/** After a refusal by the registry. Without jitter: it is computed anew in each run. */
const RETRY = { firstMs: 3_600_000, longestMs: 24 * 3_600_000 } as const;

/** RFC 5731 2.3, RFC 3915 3.1: a renewal would be refused, or the name is being deleted or transferred. */
const PROHIBITING = new Set([
  'clientRenewProhibited',
  'serverRenewProhibited',
  'pendingCreate',
  'pendingDelete',
  'pendingRenew',
  'pendingTransfer',
  'redemptionPeriod',
]);

export function createRenewalWorker(options: RenewalWorkerOptions): RenewalWorker {
  return new Worker(options);
}

class Worker implements RenewalWorker {
  readonly #options: RenewalWorkerOptions;
  /** Where a run ended early: names that the registry never answers for must not keep the others waiting. */
  #resumeAfter: Position | undefined;

  constructor(options: RenewalWorkerOptions) {
    this.#options = options;
  }

  async runDue(signal?: AbortSignal): Promise<RenewalRun> {
    const start = this.#resumeAfter;
    this.#resumeAfter = undefined;
    const first = await this.#walk(start, undefined, signal);
    if (start === undefined || !first.isComplete) return first;
    const rest = await this.#walk(undefined, start, signal);
    return { looked: first.looked + rest.looked, charged: first.charged + rest.charged, isComplete: rest.isComplete };
  }

  /** Examines the terms after `from` in the order of expiries, up to and including `to`. */
  async #walk(
    from: Position | undefined,
    to: Position | undefined,
    signal: AbortSignal | undefined,
  ): Promise<RenewalRun> {
    const { db, clock, batchSize = 100 } = this.#options;
    let [looked, charged, unanswered] = [0, 0, 0];
    let after = from;
    for (;;) {
      const batch = await listEndingTerms(systemDb(db), chargeHorizon(clock.now()), { after, to }, batchSize);
      for (const domain of batch) {
        looked += 1;
        const step = await this.#processName(domain);
        charged += step === 'charged' ? 1 : 0;
        if (step !== 'idle') unanswered = step === 'unanswered' ? unanswered + 1 : 0;
        after = { expiresAt: domain.expires_at, id: domain.id };
        if (unanswered === UNANSWERED_LIMIT || signal?.aborted === true) {
          this.#resumeAfter = after;
          return { looked, charged, isComplete: false };
        }
      }
      if (batch.length < batchSize) return { looked, charged, isComplete: true };
    }
  }

  /** One name; its failure does not stop the others. */
  async #processName(domain: DomainRow): Promise<Step> {
    const { logger } = this.#options;
    try {
      return await this.#advanceTerm(domain);
    } catch (error) {
      const isUnanswered = error instanceof RegistryUnavailable;
      logger.warn({ err: error, domain: domain.name }, 'a renewal is tried again later');
      return isUnanswered ? 'unanswered' : 'failed';
    }
  }

  async #advanceTerm(domain: DomainRow): Promise<Step> {
    const { db } = this.#options;
    const { term, order, offer } = await this.#readTerm(domain);
    if (!term.isDue) return this.#saveTerm(domain, term);
    if (offer === undefined) return this.#saveTerm(domain, failure('Names of this TLD are not offered any more.'));
    const { availableCents } = await readWallet(db, domain.workspace_id);
    if (availableCents < offer.priceCents) return this.#saveTerm(domain, shortage(offer.priceCents - availableCents));
    if (await this.#isTooSoon(domain, order)) return this.#saveTerm(domain, term);
    return this.#charge(await this.#clearShortage(domain), offer);
  }

  async #clearShortage(domain: DomainRow): Promise<DomainRow> {
    if (domain.renewal_shortfall_cents === null) return domain;
    await this.#saveTerm(domain, due);
    return { ...domain, renewal_state: due.state, renewal_reason: due.reason, renewal_shortfall_cents: null };
  }

  async #charge(seen: DomainRow, offer: RenewalOffer): Promise<Step> {
    const info = await this.#readRegistry(seen);
    const domain = await this.#refreshRow(seen, info);
    if (domain === undefined) return 'answered';
    const { term } = await this.#readTerm(domain);
    if (!term.isDue) return this.#saveTerm(domain, term);
    const obstacle = obstacleTo(info);
    if (obstacle !== undefined) {
      await this.#saveTerm(domain, failure(obstacle));
      return 'answered';
    }
    const fee = await this.#readFee(domain, offer);
    return fee === 'changed' ? 'answered' : this.#place(domain, offer, fee);
  }

  /** What the registry asks now. One that its owner was not shown is written down, and charged by the next run. */
  async #readFee(domain: DomainRow, { years }: RenewalOffer): Promise<RegistryFee | undefined | 'changed'> {
    const { clock, db, prices, registry } = this.#options;
    const fee = await registry.feeOf({ name: domain.name, command: 'renew', years });
    if (fee === undefined) return undefined;
    const isPremium = prices.isPremium(zoneOf(domain.name), { command: 'renew', years, fee }, clock.now());
    const shown = domain.renewal_fee;
    if (isPremium ? shown?.currency === fee.currency && shown.cents === fee.cents : shown === null) return fee;
    await saveRenewalFee(workspaceDb(db, domain.workspace_id), domain.id, isPremium ? { ...fee, years } : null);
    return 'changed';
  }

  async #readRegistry(domain: DomainRow): Promise<RegistryDomain | undefined> {
    try {
      return await this.#options.registry.info(domain.name);
    } catch (error) {
      if (error instanceof RegistryUnavailable) await this.#saveTerm(domain, failure('The registry did not answer.'));
      throw error;
    }
  }

  /**
   * Updates the row from the registry's answer. Undefined when the row is locked, or has changed since `seen`: the answer
   * may be older than that change.
   */
  async #refreshRow(seen: DomainRow, info: RegistryDomain | undefined): Promise<DomainRow | undefined> {
    const { db, clock, registry } = this.#options;
    return db.transaction(async (tx) => {
      const scoped = workspaceDb(tx, seen.workspace_id);
      const row = await lockUnlessBusy(scoped, seen.id);
      if (row?.state !== 'active' || row.expires_at?.getTime() !== seen.expires_at?.getTime()) return undefined;
      // A name that is not ours any more is retired by the order worker.
      if (info?.isOurs !== true) return row;
      const place = { workspaceId: seen.workspace_id, domainId: seen.id, name: seen.name };
      await recordInfo(tx, place, info, { registry, now: clock.now() });
      // What is known of it stays: the renewal names that, and is refused where it has moved.
      if (info.expiresAt === undefined) return row;
      return {
        ...row,
        expires_at: endOfPaidTerm(registry.habitsOf(row.name), row.billed_until, new Date(info.expiresAt)),
      };
    });
  }

  async #place(domain: DomainRow, { years, priceCents }: RenewalOffer, fee: RegistryFee | undefined): Promise<Step> {
    const { workspace_id: workspaceId, id: domainId, name, expires_at: expiresAt } = domain;
    if (expiresAt === null) return 'answered';
    const placed = await this.#options.placeRenewal({
      workspaceId,
      domainId,
      name,
      origin: 'auto_renew',
      years,
      priceCents,
      fee,
      fromExpiresAt: expiresAt,
      isStillDue: (row) => this.#isDueStill(row, expiresAt),
    });
    if ('orderId' in placed) {
      // Refused at once: the order says why, and nothing was charged.
      if (placed.state === 'failed') return 'answered';
      this.#options.logger.info({ domain: name, order: placed.orderId }, 'auto-renew charged a renewal');
      await this.#saveTerm(domain, due);
      return 'charged';
    }
    if (placed.refused === 'insufficient_balance') {
      await this.#saveTerm(domain, shortage(placed.requiredCents - placed.availableCents));
    }
    return 'answered';
  }

  #offerOf(domain: DomainRow): RenewalOffer | undefined {
    const { clock, prices } = this.#options;
    return renewalOffer(prices, domain, clock.now());
  }

  /** Of the locked row. A unique index guarantees that there is no other order for the term. */
  #isDueStill(row: DomainRow, expiresAt: Date): boolean {
    if (row.state !== 'active' || row.expires_at?.getTime() !== expiresAt.getTime()) return false;
    return termOf(row, undefined, this.#offerOf(row), this.#options.clock.now()).isDue;
  }

  async #readTerm(domain: DomainRow) {
    const { db, clock } = this.#options;
    const order = await findRenewalOrder(workspaceDb(db, domain.workspace_id), domain.id);
    const offer = this.#offerOf(domain);
    return { order, offer, term: termOf(domain, order, offer, clock.now()) };
  }

  /** Refused by the registry a short while ago. Counted in both directions: a clock that stepped back must not delay it. */
  async #isTooSoon(domain: DomainRow, order: RenewalOrder | undefined): Promise<boolean> {
    const { db, clock } = this.#options;
    if (order === undefined || order.ended_at === null || !isRefusalOf(order, domain.expires_at)) return false;
    const refusals = await countRefusals(workspaceDb(db, domain.workspace_id), domain.id, order.from_expires_at);
    const waitMs = backoffMs(refusals, RETRY);
    return Math.abs(clock.now().getTime() - order.ended_at.getTime()) < waitMs;
  }

  async #saveTerm(domain: DomainRow, term: SavedTerm): Promise<'idle'> {
    const { state, reason, shortfallCents } = term;
    const isKnown =
      domain.renewal_state === state &&
      domain.renewal_reason === reason &&
      domain.renewal_shortfall_cents === shortfallCents;
    if (!isKnown) await saveTerm(workspaceDb(this.#options.db, domain.workspace_id), domain, term);
    return 'idle';
  }
}

/** `idle`: the registry was not asked. */
type Step = 'idle' | 'charged' | 'answered' | 'unanswered' | 'failed';
type SavedTerm = Omit<Term, 'isDue'>;

const due: SavedTerm = { state: 'charging', reason: null, shortfallCents: null };

function failure(reason: string): SavedTerm {
  return { state: 'failed', reason, shortfallCents: null };
}

function shortage(shortfallCents: number): SavedTerm {
  return { state: 'unpaid', reason: 'The wallet does not cover the price.', shortfallCents };
}

function obstacleTo(info: RegistryDomain | undefined): string | undefined {
  if (info?.isOurs !== true) return 'The registry does not have this name with us.';
  const status = info.statuses.find((each) => PROHIBITING.has(each));
  return status === undefined ? undefined : `The registry would refuse a renewal now: the name’s status is ${status}.`;
}
