/**
 * Deliveries that are due, sent by this replica: at most MAX_AT_ONCE together and PER_ENDPOINT to one endpoint, so that a slow
 * endpoint delays nobody else.
 *
 *   pending, due ──claim──▶ pending, leased ──2xx──▶ succeeded
 *        ▲                      │      └──── missed for the sixth time ──▶ dead
 *        └── wait, or lease over ┘
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { earliestOf, millisecondsUntil } from '../periodic/next-due.ts';
import { type Vault, VaultError } from '../vault/vault.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type SettledAttempt,
  settleAttempts,
  type WebhookTables,
} from './delivery-store.ts';
import { type EndpointReport, noteEndpointHealth, type OnPaused } from './endpoint-health.ts';
import { nextAttemptAt } from './retry-schedule.ts';
import { openActiveSecrets } from './sealed-secrets.ts';
import type { AttemptResult, WebhookSender } from './send-delivery.ts';
import { signDelivery } from './webhook-secret.ts';

const MAX_AT_ONCE = 256;
const PER_ENDPOINT = 16;
/** Attempts that miss take up to ten seconds each: endpoints that are down must not take all the room. */
const PER_FAILING_ENDPOINT = 2;

const UNSIGNABLE: AttemptResult = {
  httpStatus: null,
  error: 'the secret of the webhook cannot be read on this server: rotate it',
};

export interface DispatcherDependencies<Event> {
  readonly db: Database;
  readonly tables: WebhookTables;
  /** The JSON that is sent. */
  readonly renderBody: (delivery: ClaimedDelivery<Event>) => string;
  readonly onPaused: OnPaused;
  readonly vault: Vault;
  readonly now: () => Date;
  readonly send: WebhookSender;
  readonly logger: { warn(fields: object, message: string): void };
  readonly metrics: Metrics;
  /** There is room for more. */
  readonly onRoom: () => void;
}

export class Dispatcher<Event> {
  readonly #deps: DispatcherDependencies<Event>;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  /** Attempts under way, by webhook. */
  readonly #busy = new Map<string, number>();
  #after = '';
  #settling: Promise<void> | undefined;
  #settled: { readonly attempt: SettledAttempt; readonly report: EndpointReport }[] = [];
  readonly #attempts: ReturnType<Metrics['histogram']>;

  constructor(deps: DispatcherDependencies<Event>) {
    this.#deps = deps;
    this.#attempts = deps.metrics.histogram(
      'webhook_attempt_duration_seconds',
      'Time of one attempt to deliver an event, by outcome: succeeded, missed or dead',
      ['outcome'],
    );
  }

  /** Begins what is due, as far as there is room. The milliseconds until more is due, where that is known. */
  async dispatch(signal: AbortSignal): Promise<number | undefined> {
    let dueAt: Date | undefined;
    while (!signal.aborted && !this.#stopping.signal.aborted) {
      const limit = MAX_AT_ONCE - this.#underWay.size;
      if (limit <= 0) break;
      const from = this.#after;
      const {
        deliveries,
        next,
        dueAt: nextDueAt,
      } = await claimDeliveries<Event>(this.#deps.db, this.#deps.tables, {
        now: this.#deps.now(),
        after: from,
        perEndpoint: PER_ENDPOINT,
        perFailingEndpoint: PER_FAILING_ENDPOINT,
        busy: this.#busy,
        limit,
      });
      for (const delivery of deliveries) this.#begin(delivery);
      this.#after = next;
      dueAt = earliestOf([dueAt, nextDueAt]);
      // From the first endpoint to the last nothing is due that may be sent.
      if (deliveries.length === 0 && from === '' && next === '') break;
    }
    return millisecondsUntil(dueAt, this.#deps.now());
  }

  /** Waits for what is under way. */
  async drain(): Promise<void> {
    while (this.#underWay.size > 0 || this.#settling !== undefined) {
      await Promise.all(this.#underWay);
      await this.#settling;
    }
  }

  /** Breaks off what is under way; it is due again when its lease ends. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the dispatcher stops'));
    await this.drain();
  }

  #begin(delivery: ClaimedDelivery<Event>): void {
    const { webhook_id } = delivery;
    this.#busy.set(webhook_id, (this.#busy.get(webhook_id) ?? 0) + 1);
    const done = this.#attempt(delivery)
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        this.#deps.logger.warn(
          { err: error, delivery: delivery.id },
          'an attempt could not be made; its lease ends it',
        );
      })
      .finally(() => {
        this.#underWay.delete(done);
        const left = (this.#busy.get(webhook_id) ?? 1) - 1;
        if (left > 0) this.#busy.set(webhook_id, left);
        else this.#busy.delete(webhook_id);
        this.#deps.onRoom();
      });
    this.#underWay.add(done);
  }

  async #attempt(delivery: ClaimedDelivery<Event>): Promise<void> {
    const { now, renderBody, send } = this.#deps;
    const at = now();
    const { owner_id, id, webhook_id, round, misses, failing_since, url } = delivery;
    const body = renderBody(delivery);
    const secrets = this.#openSecrets(delivery, at);
    const startedMs = performance.now();
    const { httpStatus, error } =
      secrets === undefined
        ? UNSIGNABLE
        : await send(url, signDelivery(delivery.event_id, body, secrets, at), body, this.#stopping.signal);
    const durationMs = performance.now() - startedMs;
    const next = error === null ? undefined : nextAttemptAt(misses + 1, at);
    const status = error === null ? 'succeeded' : next === undefined ? 'dead' : 'pending';
    this.#attempts.observe({ outcome: status === 'pending' ? 'missed' : status }, durationMs / 1_000);
    const attempt: SettledAttempt = {
      owner_id,
      id,
      round,
      status,
      at: at.toISOString(),
      duration_ms: Math.round(durationMs),
      http_status: httpStatus,
      error,
      next_attempt_at: next?.toISOString() ?? null,
    };
    const hasMissed = error !== null;
    const report = { ownerId: owner_id, webhookId: webhook_id, failingSince: failing_since, hasMissed, at };
    this.#settled.push({ attempt, report });
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = undefined;
    });
    await this.#settling;
  }

  /** Undefined where the master key that sealed them is lost. */
  #openSecrets(delivery: ClaimedDelivery<Event>, at: Date): string[] | undefined {
    const { owner_id, webhook_id } = delivery;
    try {
      return openActiveSecrets(this.#deps.vault, { ownerId: owner_id, webhookId: webhook_id }, delivery, at);
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      this.#deps.logger.warn({ err: error, webhook: webhook_id }, 'a delivery cannot be signed');
      return undefined;
    }
  }

  /** One statement for what ended together, until nothing is left. */
  async #settleAll(): Promise<void> {
    await nextTick();
    while (this.#settled.length > 0) {
      const settled = this.#settled;
      this.#settled = [];
      const { db, tables, now, onPaused } = this.#deps;
      await settleAttempts(
        db,
        tables,
        settled.map(({ attempt }) => attempt),
        now(),
      );
      // The last of each endpoint tells how it is.
      const reports = new Map(settled.map(({ report }) => [report.webhookId, report]));
      for (const report of reports.values()) await noteEndpointHealth(db, tables, report, onPaused);
    }
  }
}
