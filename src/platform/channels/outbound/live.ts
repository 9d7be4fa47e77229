/**
 * Shows pieces of answers as long as their turns go on at this replica. Whether that works is nobody's business: the answer
 * is planned, stored and sent as ever, and takes the place of what is shown.
 */
import { elapsedMs, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { createBatcher } from '../../../kernel/event-loop/batcher.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Engine } from '../../engine/index.ts';
import type { Channel } from '../channel.ts';
import type { ShownTurn } from '../inbound/dispatch-chats.ts';
import type { WaitingChat, WaitingMessage } from '../inbound/queue-store.ts';
import { LiveAnswer } from './live-answer.ts';
import { holdPlaces, releasePlaces } from './live-store.ts';

/** An answer that comes soon is not shown before. */
const FIRST_MS = 1_000;
const MAX_SHOWN = 64;
/** Between two calls for answers of one account: what is sent has most of its pace. */
const ACCOUNT_MS = 100;

export interface LiveDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly vault: Pick<Vault, 'open'>;
  readonly now: () => Date;
  /** There are messages to be sent. */
  readonly wake: () => void;
}

export interface Live {
  show(chat: WaitingChat, last: WaitingMessage, turn: ShownTurn): void;
  /** Waits for what is being shown. */
  stop(): Promise<void>;
}

export function createLive(deps: LiveDependencies): Live {
  const { db, now } = deps;
  const shown = new Set<Promise<void>>();
  const timers = new Set<Timer>();
  const stopping = new AbortController();
  /** By account, when something may be shown there next, by a clock that only goes forward. */
  const accounts = new Map<string, number>();
  const places = {
    hold: createBatcher((wanted: Parameters<typeof holdPlaces>[1]) => holdPlaces(db, wanted, now())),
    release: createBatcher((held: Parameters<typeof releasePlaces>[1]) => releasePlaces(db, held, now())),
    isFree(account: string): boolean {
      const nowMs = elapsedMs();
      if ((accounts.get(account) ?? 0) > nowMs) return false;
      accounts.set(account, nowMs + ACCOUNT_MS);
      return true;
    },
    pause: (account: string, pauseMs: number) => void accounts.set(account, elapsedMs() + pauseMs),
  };

  function begin(channel: Channel, chat: WaitingChat, last: WaitingMessage, turn: ShownTurn): void {
    if (shown.size >= MAX_SHOWN) return;
    // Nothing is under way: what is remembered of accounts is over.
    if (shown.size === 0) accounts.clear();
    const answer = new LiveAnswer({ ...deps, places }, channel, { chat, sealedReply: last.sealed_reply, turn });
    const done = answer.show(stopping.signal).finally(() => shown.delete(done));
    shown.add(done);
  }

  return {
    show(chat, last, turn) {
      const channel = deps.channels.get(chat.kind);
      if (channel?.live === undefined || stopping.signal.aborted) return;
      const timer = setTimer(() => {
        timers.delete(timer);
        begin(channel, chat, last, turn);
      }, FIRST_MS);
      timers.add(timer);
      void turn.live.done.finally(() => {
        timer.cancel();
        timers.delete(timer);
      });
    },
    async stop() {
      stopping.abort(new Error('this server stops'));
      for (const timer of timers) timer.cancel();
      await Promise.all(shown);
    },
  };
}
