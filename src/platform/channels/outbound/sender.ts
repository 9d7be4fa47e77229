/**
 * Sends what is planned: those of one place in order, MAX_SENDS together.
 *
 *   waiting ──about to be sent──▶ sending ──▶ sent
 *     ▲                             │ ├──── refused, or tried too often ──▶ failed, with the rest of its answer
 *     │                             │ └──── its replica died: looked up or sent again, MAX_LOSSES times
 *     └── refused for now, unreadable (then plain), or of unknown outcome (then looked up first, until there is an answer)
 */
import { createPausableTicker, type PausableTicker, setTimer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { createBatcher } from '../../../kernel/event-loop/batcher.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import { earliestOf, millisecondsUntil } from '../../../kernel/periodic/next-due.ts';
import type { Channel } from '../channel.ts';
import { claimParts, type DuePart } from './claim-parts.ts';
import {
  extendOutboxes,
  markSending,
  type PartKey,
  pauseAccount,
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
  readonly #paces: Readonly<Record<string, number>>;
  readonly #sending = new Map<DuePart, Promise<void>>();
  readonly #stopping = new AbortController();
  /** Ticks while something is being sent. */
  readonly #extending: PausableTicker;
  #after = '';
  /** A look ended for want of room. */
  #isCrowded = false;

  constructor(deps: SenderDependencies) {
    this.#deps = deps;
    const { db, now, logger } = deps;
    const pacesMs = [...deps.channels.values()].map(({ kind, pace }) => [kind, pace.accountMs] as const);
    this.#paces = Object.fromEntries(pacesMs.filter(([, ms]) => ms > 0));
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
    this.#extending = createPausableTicker(() => {
      extendOutboxes(db, [...this.#sending.keys()], now()).catch((error: unknown) => {
        logger.warn({ err: error }, 'what is being sent may be taken by another replica');
      });
    }, EXTEND_EVERY_MS);
  }

  /** Sends what is due, as far as there is room. The milliseconds until more is due, where that is known. */
  async send(signal: AbortSignal): Promise<number | undefined> {
    const { db, now } = this.#deps;
    let dueAt: Date | undefined;
    while (!signal.aborted) {
      const limit = MAX_SENDS - this.#sending.size;
      this.#isCrowded = limit < MIN_CLAIM;
      if (this.#isCrowded) break;
      const from = this.#after;
      const {
        due,
        next,
        dueAt: nextDueAt,
      } = await claimParts(db, { now: now(), after: from, limit, paces: this.#paces });
      this.#after = next;
      dueAt = earliestOf([dueAt, nextDueAt]);
      this.#begin(due);
      // From the first project to the last nothing more is due.
      if (due.length < limit && from === '' && next === '') break;
    }
    return millisecondsUntil(dueAt, now());
  }

  /** Waits for what is being sent. */
  async stop(): Promise<void> {
    this.#extending.pause();
    this.#stopping.abort(new Error('this server stops'));
    await Promise.all(this.#sending.values());
  }

  #begin(due: readonly DuePart[]): void {
    const waitsMs = waitsOf(due, this.#paces, this.#deps.now().getTime());
    for (const each of due) {
      const done = this.#deliver(each, waitsMs.get(each) ?? 0)
        .catch((error: unknown) => {
          this.#deps.logger.warn({ err: error, outbox: each.outbox_id }, 'an outbox was not settled; its lease ends');
        })
        .finally(() => {
          this.#sending.delete(each);
          if (this.#sending.size === 0) this.#extending.pause();
          if (this.#isCrowded && MAX_SENDS - this.#sending.size >= MIN_CLAIM) this.#deps.wake();
        });
      this.#sending.set(each, done);
      if (!this.#stopping.signal.aborted) this.#extending.resume();
    }
  }

  async #deliver(due: DuePart, waitMs: number): Promise<void> {
    const { project_id, outbox_id, planned, part } = due;
    if (part === null) {
      await this.#settle({ project_id, outbox_id, number: planned, result: 'empty' });
      return;
    }
    if (waitMs > 0) await this.#pause(waitMs);
    if (this.#stopping.signal.aborted) return this.#giveBack(due, part);
    const channel = this.#deps.channels.get(due.kind);
    const outcome = await sendPart({ ...this.#deps, mark: this.#mark }, channel, { ...due, part });
    if (outcome === undefined) return;
    this.#outcomes.inc({ channel: due.kind, outcome: outcome.result });
    await this.#settlePart(due, part, outcome);
    if (planned === part.number && outcome.result === 'sent') return;
    const { rest_ms: restMs = 0, wait_ms: retryMs = 0 } = outcome;
    setTimer(this.#deps.wake, Math.max(restMs, retryMs));
  }

  /** This server stops: it is left to whoever claims it next. */
  async #giveBack(due: DuePart, { attempts, ...part }: NonNullable<DuePart['part']>): Promise<void> {
    if (due.is_marked) await this.#settlePart(due, part, { result: 'paused', attempts: attempts + 1 });
  }

  async #settlePart(
    due: DuePart,
    part: Pick<NonNullable<DuePart['part']>, 'answer_id' | 'position' | 'number'>,
    outcome: PartOutcome,
  ): Promise<void> {
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
    const timer = setTimer(resolve, waitMs, { keepsProcess: true });
    const { signal } = this.#stopping;
    signal.addEventListener('abort', () => resolve(), { once: true });
    return promise.finally(() => timer.cancel());
  }
}

/** How long each has to wait for its turn at its account. */
function waitsOf(
  due: readonly DuePart[],
  paces: Readonly<Record<string, number>>,
  nowMs: number,
): ReadonlyMap<DuePart, number> {
  const waitsMs = new Map<DuePart, number>();
  const left = new Map<string, number>();
  for (const each of due.toReversed()) {
    const { account_free_at: freeAt, account_paced_to: pacedTo } = each;
    const account = JSON.stringify([each.project_id, each.kind, each.account_id]);
    const leftMs = (left.get(account) ?? 0) + (each.part === null ? 0 : (paces[each.kind] ?? 0));
    left.set(account, leftMs);
    const turnMs = pacedTo === null ? (freeAt?.getTime() ?? 0) : pacedTo.getTime() - leftMs;
    waitsMs.set(each, turnMs - nowMs);
  }
  return waitsMs;
}
