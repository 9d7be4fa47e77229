/** One answer while its turn goes on. Its place is held for each call, so that what is sent never passes what is shown. */
import { elapsedMs, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Engine } from '../../engine/index.ts';
import { AnswerText, readAnswer } from '../../surfaces/index.ts';
import { type Channel, type Destination, type LiveAnswers, type LivePlace, SendFailure } from '../channel.ts';
import type { ShownTurn } from '../inbound/dispatch-chats.ts';
import type { WaitingChat } from '../inbound/queue-store.ts';
import { type HeldPlace, keepLiveMessage, markUnsure, type PlaceToHold, type RunKey } from './live-store.ts';
import { openDestination } from './open-destination.ts';

/** Well within the lease that holds the place. */
const CALL_TIMEOUT_MS = 3_000;
/** The answer is there, and waits so long for a call that is under way. */
const GRACE_MS = 300;
/** Until the first piece is there. */
const LOOK_MS = 500;
const LONGEST_MS = 15 * 60_000;
/** More of an answer is not shown while it is written: it is split anew for each piece. */
const SHOWN_CHARS = 100_000;
/** Of its lifetime, what is shown is shown again after this. */
const RENEWED = 0.6;

export interface Places {
  hold(place: PlaceToHold): Promise<HeldPlace | undefined>;
  /** Whether something waits there to be sent. */
  release(held: HeldPlace & { readonly rest_ms: number }): Promise<boolean>;
  /** Whether this account may be called for what is shown; then it may not for a while. */
  isFree(account: string): boolean;
  pause(account: string, pauseMs: number): void;
}

export interface LiveAnswerDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly vault: Pick<Vault, 'open'>;
  readonly places: Places;
  readonly wake: () => void;
}

interface Shown {
  readonly chat: WaitingChat;
  readonly sealedReply: string | null;
  readonly turn: ShownTurn;
}

export class LiveAnswer {
  readonly #deps: LiveAnswerDependencies;
  readonly #channel: Channel;
  readonly #shown: Shown;
  readonly #run: RunKey;
  readonly #said = new AnswerText();
  readonly #over = new AbortController();
  #place: LivePlace | undefined;
  #isOpen = false;
  #message: string | undefined;
  #text = '';
  #textMs = 0;

  constructor(deps: LiveAnswerDependencies, channel: Channel, shown: Shown) {
    this.#deps = deps;
    this.#channel = channel;
    this.#shown = shown;
    this.#run = { projectId: shown.chat.project_id, runId: shown.turn.segment.run.id };
  }

  /** Until the turn rests or leaves this replica, the channel wants no more, or the signal fires. */
  async show(stopping: AbortSignal): Promise<void> {
    const { segment, live } = this.#shown.turn;
    const end = () => this.#over.abort('over');
    stopping.addEventListener('abort', end, { once: true });
    const longest = setTimer(end, LONGEST_MS);
    void live.done.finally(end);
    void readAnswer(this.#deps.engine, segment, this.#said, this.#over.signal).catch(() => undefined);
    try {
      for (let waitMs: number | undefined = 0; waitMs !== undefined && !this.#over.signal.aborted; ) {
        waitMs = await this.#step();
        if (waitMs !== undefined) await this.#pause(waitMs);
      }
    } catch {
      // The store or the vault: the answer is sent without having been shown.
    } finally {
      end();
      longest.cancel();
      stopping.removeEventListener('abort', end);
    }
  }

  /** How long to wait for the next step; undefined: there is none. */
  async #step(): Promise<number | undefined> {
    const { chat, sealedReply } = this.#shown;
    if (!this.#hasNews()) return this.#place?.paceMs ?? LOOK_MS;
    const to = await openDestination(this.#deps.vault, this.#channel, chat, sealedReply);
    const live = this.#channel.live;
    const place = to && live?.at(to);
    if (to === undefined || live === undefined || place === undefined) return undefined;
    this.#place = place;
    const account = `${chat.project_id}/${chat.kind}/${chat.account_id}`;
    if (!this.#deps.places.isFree(account)) return place.paceMs;
    const held = await this.#deps.places.hold({
      ...{ project_id: chat.project_id, kind: chat.kind, account_id: chat.account_id, chat: chat.chat },
      pace_ms: this.#channel.pace.accountMs,
    });
    if (held === undefined) return place.paceMs;
    try {
      return (await this.#call(live, to)) ? place.paceMs : undefined;
    } catch (error) {
      const waitMs = await this.#judge(error, account);
      return waitMs === undefined ? undefined : Math.max(waitMs, place.paceMs);
    } finally {
      if (await this.#deps.places.release({ ...held, rest_ms: this.#channel.pace.chatMs })) {
        setTimer(this.#deps.wake, this.#channel.pace.chatMs);
      }
    }
  }

  #hasNews(): boolean {
    const text = this.#textToShow();
    if (text.trim() === '') return false;
    const { lifetimeMs = Number.POSITIVE_INFINITY } = this.#place ?? {};
    return text !== this.#text || elapsedMs() - this.#textMs > lifetimeMs * RENEWED;
  }

  #textToShow(): string {
    return this.#said.text.slice(0, SHOWN_CHARS);
  }

  /** False: nothing more is to be shown. */
  async #call(live: LiveAnswers, to: Destination): Promise<boolean> {
    if (this.#over.signal.aborted) return false;
    const calling = new AbortController();
    const timeout = setTimer(() => calling.abort(new Error('it takes too long')), CALL_TIMEOUT_MS, {
      keepsProcess: true,
    });
    let grace: Timer | undefined;
    const hurry = () => {
      grace = setTimer(() => calling.abort(new Error('the answer is there')), GRACE_MS, { keepsProcess: true });
    };
    this.#over.signal.addEventListener('abort', hurry, { once: true });
    try {
      if (!this.#isOpen && !(await this.#open(live, to, calling.signal))) return false;
      // The message that was just made is changed once its place allows it.
      if (this.#message !== undefined && this.#textMs === 0) {
        this.#textMs = elapsedMs();
        return true;
      }
      const text = this.#textToShow();
      const options = { message: this.#message, key: this.#run.runId, shown: this.#text, signal: calling.signal };
      await live.show(to, text, options);
      this.#text = text;
      this.#textMs = elapsedMs();
      return true;
    } finally {
      timeout.cancel();
      grace?.cancel();
      this.#over.signal.removeEventListener('abort', hurry);
    }
  }

  async #open(live: LiveAnswers, to: Destination, signal: AbortSignal): Promise<boolean> {
    const message = await live.open(to, signal);
    this.#isOpen = true;
    if (message === undefined) return true;
    this.#message = message;
    if (await keepLiveMessage(this.#deps.db, this.#run, message)) return true;
    // The answer has been planned meanwhile, and does not know of it.
    await live.remove(to, message, signal);
    return false;
  }

  /** How long to wait after a failure; undefined: nothing more is shown. */
  async #judge(error: unknown, account: string): Promise<number | undefined> {
    const failure = error instanceof SendFailure ? error : undefined;
    const { retryAfterMs = 0 } = failure ?? {};
    switch (failure?.kind) {
      case 'paused':
        if (failure.bucket === 'account') this.#deps.places.pause(account, retryAfterMs);
        return retryAfterMs;
      case 'unavailable':
        return 0;
      case 'unreadable':
      case 'refused':
        return undefined;
      case 'unknown':
      case undefined:
        // What leaves no message behind can be shown again.
        if (this.#isOpen && this.#message === undefined) return 0;
        await markUnsure(this.#deps.db, this.#run);
        return undefined;
    }
  }

  #pause(waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimer(resolve, waitMs);
    const { signal } = this.#over;
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    return promise.finally(() => {
      timer.cancel();
      signal.removeEventListener('abort', stop);
    });
  }
}
