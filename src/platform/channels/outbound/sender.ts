/**
 * Sends what is planned: those of one place in order, MAX_SENDS together.
 *
 *   waiting ──about to be sent──▶ sending ──▶ sent
 *     ▲                             │ ├──── refused, or tried too often ──▶ failed, with the rest of its answer
 *     │                             │ └──── its replica died: looked up or sent again, MAX_LOSSES times
 *     └── refused for now, unreadable (then plain), or of unknown outcome (then looked up first, until there is an answer)
 */
import type { Database } from '../../../kernel/db/database.ts';
import { createBatcher } from '../../../kernel/event-loop/batcher.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import type { Channel } from '../channel.ts';
import {
  type AccountKey,
  claimOutboxes,
  type DuePart,
  extendOutboxes,
  markSending,
  type PartKey,
  pauseAccount,
  readDueParts,
  reserveSends,
  type SettledPart,
  settleParts,
} from './outbox-store.ts';
import { type PartOutcome, type SendDependencies, sendPart } from './send-part.ts';

const MAX_SENDS = 64;
/** Room for fewer than these is not worth a look. */
const MIN_CLAIM = 16;
const EXTEND_EVERY_MS = 3_000;

export interface SenderDependencies extends Omit<SendDependencies, 'mark'> {
  readonly db: Database;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly metrics: Metrics;
  /** There is room for more. */
  readonly wake: () => void;
}

export class Sender {
  readonly #deps: SenderDependencies;
  readonly #mark: (part: PartKey) => Promise<boolean>;
  readonly #settle: (settled: SettledPart) => Promise<void>;
  readonly #outcomes: ReturnType<Metrics['counter']>;
  readonly #sending = new Map<DuePart, Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #extending: NodeJS.Timeout;
  #after = '';
  /** A look ended for want of room. */
  #isCrowded = false;

  constructor(deps: SenderDependencies) {
    this.#deps = deps;
    const { db, now, logger } = deps;
    this.#mark = createBatcher((parts) => markSending(db, parts, now()));
    this.#settle = createBatcher(async (settled) => {
      await settleParts(db, settled, now());
      return [];
    });
    this.#outcomes = deps.metrics.counter(
      'channel_sends_total',
      'Messages that were to be sent to a channel, by channel and outcome: sent, failed, or retry, unknown and paused where they are tried again',
      ['channel', 'outcome'],
    );
    this.#extending = setInterval(() => {
      if (this.#sending.size === 0) return;
      extendOutboxes(db, [...this.#sending.keys()], now()).catch((error: unknown) => {
        logger.warn({ err: error }, 'what is being sent may be taken by another replica');
      });
    }, EXTEND_EVERY_MS).unref();
  }

  /** Sends what is due, as far as there is room. */
  async send(signal: AbortSignal): Promise<void> {
    const { db, now } = this.#deps;
    while (!signal.aborted) {
      const limit = MAX_SENDS - this.#sending.size;
      this.#isCrowded = limit < MIN_CLAIM;
      if (this.#isCrowded) return;
      const from = this.#after;
      const { outboxes, next } = await claimOutboxes(db, { now: now(), after: from, limit });
      this.#after = next;
      if (outboxes.length > 0) await this.#begin(await readDueParts(db, outboxes, now()));
      // From the first project to the last nothing more is due.
      if (outboxes.length < limit && from === '' && next === '') return;
    }
  }

  /** Waits for what is being sent. */
  async stop(): Promise<void> {
    clearInterval(this.#extending);
    this.#stopping.abort(new Error('this server stops'));
    await Promise.all(this.#sending.values());
  }

  async #begin(due: readonly DuePart[]): Promise<void> {
    const waitsMs = await this.#reserve(due.filter(({ part }) => part !== null));
    for (const each of due) {
      const done = this.#deliver(each, waitsMs.get(each) ?? 0)
        .catch((error: unknown) => {
          this.#deps.logger.warn({ err: error, outbox: each.outbox_id }, 'an outbox was not settled; its lease ends');
        })
        .finally(() => {
          this.#sending.delete(each);
          if (this.#isCrowded && MAX_SENDS - this.#sending.size >= MIN_CLAIM) this.#deps.wake();
        });
      this.#sending.set(each, done);
    }
  }

  /** How long each has to wait for its turn at its account. */
  async #reserve(due: readonly DuePart[]): Promise<ReadonlyMap<DuePart, number>> {
    const nowDate = this.#deps.now();
    const nowMs = nowDate.getTime();
    const waitsMs = new Map(due.map((each) => [each, (each.account_free_at?.getTime() ?? 0) - nowMs]));
    const paced = new Map<string, { key: AccountKey; paceMs: number; parts: DuePart[] }>();
    for (const each of due) {
      const paceMs = this.#deps.channels.get(each.kind)?.pace.accountMs ?? 0;
      if (paceMs === 0) continue;
      const { project_id, kind, account_id } = each;
      const name = accountName(each);
      const group = paced.get(name) ?? { key: { project_id, kind, account_id }, paceMs, parts: [] };
      group.parts.push(each);
      paced.set(name, group);
    }
    if (paced.size === 0) return waitsMs;
    const wanted = [...paced.values()].map(({ key, paceMs, parts }) => ({
      ...key,
      count: parts.length,
      pace_ms: paceMs,
    }));
    for (const reserved of await reserveSends(this.#deps.db, wanted, nowDate)) {
      const group = paced.get(accountName(reserved));
      if (group === undefined) continue;
      for (const [index, each] of group.parts.entries()) {
        const leftMs = (group.parts.length - index) * group.paceMs;
        waitsMs.set(each, reserved.free_at.getTime() - leftMs - nowMs);
      }
    }
    return waitsMs;
  }

  async #deliver(due: DuePart, waitMs: number): Promise<void> {
    const { project_id, outbox_id, planned, part } = due;
    if (part === null) {
      await this.#settle({ project_id, outbox_id, number: planned, result: 'empty' });
      return;
    }
    if (waitMs > 0) await this.#pause(waitMs);
    // It is left to whoever claims it next.
    if (this.#stopping.signal.aborted) return;
    const channel = this.#deps.channels.get(due.kind);
    const outcome = await sendPart({ ...this.#deps, mark: this.#mark }, channel, { ...due, part });
    if (outcome === undefined) return;
    this.#outcomes.inc({ channel: due.kind, outcome: outcome.result });
    await this.#settlePart(due, part, outcome);
    if (planned === part.number && outcome.result === 'sent') return;
    const { rest_ms: restMs = 0, wait_ms: retryMs = 0 } = outcome;
    setTimeout(this.#deps.wake, Math.max(restMs, retryMs)).unref();
  }

  async #settlePart(due: DuePart, part: NonNullable<DuePart['part']>, outcome: PartOutcome): Promise<void> {
    const { project_id, outbox_id } = due;
    const { pauseAccountMs, ...rest } = outcome;
    if (pauseAccountMs !== undefined) {
      await pauseAccount(this.#deps.db, due, new Date(this.#deps.now().getTime() + pauseAccountMs));
    }
    const { answer_id, position, number } = part;
    await this.#settle({ project_id, outbox_id, answer_id, position, number, ...rest });
  }

  #pause(waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    const { signal } = this.#stopping;
    signal.addEventListener('abort', () => resolve(), { once: true });
    return promise.finally(() => clearTimeout(timer));
  }
}

function accountName({ project_id, kind, account_id }: AccountKey): string {
  return JSON.stringify([project_id, kind, account_id]);
}
