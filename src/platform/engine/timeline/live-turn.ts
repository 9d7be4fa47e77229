/**
 * A turn that this replica executes: numbers its frames, shows them to local readers at once and keeps the ones that
 * are not stored yet. Adjacent deltas of one message merge into one row; its `seq` is the last delta's.
 */
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { JsonObject } from '../../tables.ts';
import type { RunRow } from '../store/run-row.ts';
import type { StoredFrame } from '../store/stored-frame.ts';
import type { TurnKey } from '../turn.ts';
import { type NewFrame, ShownFrame, showStoredFrame } from './frames.ts';

/** An executor waits for the store beyond this many frames; keeps what a crash can lose below SEQ_JUMP. */
export const MAX_UNFLUSHED_FRAMES = 50_000;

interface PendingFrame {
  seq: number;
  readonly type: string;
  readonly data: JsonObject;
  /** The pieces of a merged frame, in order, one a sequence number. */
  readonly pieces: string[] | undefined;
  readonly createdAt: string;
  /** Has been part of a write. Even a failed one may have been carried out, so that the row must not grow. */
  offered: boolean;
}

/** Sees each frame as it happens. */
export type FrameListener = (frame: ShownFrame) => void;

export class LiveTurn {
  readonly key: TurnKey;
  readonly abort = new AbortController();
  /** Resolves with the run when it has settled, paused, or left this replica (undefined). */
  readonly done: Promise<RunRow | undefined>;
  /** Highest number that the store has; everything up to it can be read there. */
  flushedSeq: number;
  /** Set once this replica no longer executes the turn. */
  ended = false;
  /** Set while the statement that starts the turn is under way: nothing of the turn may be written before it. */
  starting: Promise<unknown> | undefined;

  readonly #listeners = new Set<FrameListener>();
  readonly #onUnflushed: () => void;
  readonly #resolveDone: (row: RunRow | undefined) => void;
  #seq: number;
  /** Text that listeners have not been shown yet. */
  #unshown: { type: string; pieces: string[]; step: number; seq: number } | undefined;
  #pending: PendingFrame[] = [];
  #flushing: PendingFrame[] = [];
  #flush: Promise<void> | undefined;
  #frameCount = 0;

  /** `onUnflushed` is called when there are frames to flush and there were none. */
  constructor(key: TurnKey, lastSeq: number, onUnflushed: () => void = () => undefined) {
    this.key = key;
    this.#onUnflushed = onUnflushed;
    this.#seq = lastSeq;
    this.flushedSeq = lastSeq;
    const { promise, resolve } = Promise.withResolvers<RunRow | undefined>();
    this.done = promise;
    this.#resolveDone = resolve;
  }

  get seq(): number {
    return this.#seq;
  }

  /** A frame with several members, e.g. `tool.executing`. */
  emit(type: string, data: JsonObject): void {
    this.#push({ seq: this.#seq + 1, type, data, pieces: undefined, createdAt: timestampNow(), offered: false });
    this.showText();
    this.#show(type, data, this.#seq);
  }

  /** A piece of text: `message.delta` or `reasoning` of the model call at `step`. */
  emitText(type: 'message.delta' | 'reasoning', text: string, step: number): void {
    const last = this.#pending.at(-1);
    if (last?.pieces !== undefined && !last.offered && last.type === type && last.data.step === step) {
      last.pieces.push(text);
      last.seq = ++this.#seq;
      this.#frameCount += 1;
    } else {
      const seq = this.#seq + 1;
      this.#push({ seq, type, data: { step }, pieces: [text], createdAt: timestampNow(), offered: false });
    }
    this.#showSoon(type, text, step);
  }

  #push(frame: PendingFrame): void {
    this.#seq = frame.seq;
    this.#frameCount += 1;
    if (this.#pending.push(frame) === 1) this.#onUnflushed();
  }

  /** What was taken is not stored. */
  #putBack(batch: readonly PendingFrame[], count: number): void {
    this.#pending = [...batch, ...this.#pending];
    this.#flushing = [];
    this.#frameCount += count;
    if (this.#pending.length > 0) this.#onUnflushed();
  }

  /** Pieces that arrive in one turn of the event loop are shown together, so that a busy server does not fall further behind. */
  #showSoon(type: 'message.delta' | 'reasoning', text: string, step: number): void {
    if (this.#listeners.size === 0) return;
    const unshown = this.#unshown;
    if (unshown !== undefined && unshown.type === type && unshown.step === step) {
      unshown.pieces.push(text);
      unshown.seq = this.#seq;
      return;
    }
    if (unshown === undefined) scheduleShowing(this);
    else this.showText();
    this.#unshown = { type, pieces: [text], step, seq: this.#seq };
  }

  /** Shows the text that waits for the end of this turn of the event loop. */
  showText(): void {
    const unshown = this.#unshown;
    if (unshown === undefined) return;
    this.#unshown = undefined;
    const { type, pieces, step, seq } = unshown;
    this.#show(type, { text: pieces.join(''), step }, seq, pieces);
  }

  #show(type: string, data: JsonObject, seq: number, pieces?: readonly string[]): void {
    if (this.#listeners.size === 0) return;
    const joined = pieces === undefined ? {} : { pieces };
    const frame = new ShownFrame(this.key.runId, { seq, type, data, ...joined, createdAt: timestampNow() });
    for (const listener of this.#listeners) listener(frame);
  }

  /** Frames from now on; for earlier ones see `unflushedAfter`. */
  listen(listener: FrameListener): () => void {
    this.showText();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get unflushedCount(): number {
    return this.#frameCount;
  }

  get hasUnflushed(): boolean {
    return this.#pending.length > 0;
  }

  /** The flush under way, if any: the end of a turn waits for it, so that the timeline has no hole. */
  get flush(): Promise<void> | undefined {
    return this.#flush;
  }

  /** Frames beyond `after` that the store may not have yet, in order. */
  unflushedAfter(after: number): ShownFrame[] {
    return [...this.#flushing, ...this.#pending]
      .filter((frame) => frame.seq > after)
      .map((frame) => showStoredFrame(this.key.runId, storedFrame(frame), after));
  }

  /** Hands the pending frames to a batch flush; `settled` tells when it has ended, and whether it was stored. */
  beginFlush(settled: Promise<boolean>): StoredFrame[] {
    const batch = this.#pending;
    const count = this.#frameCount;
    this.#flushing = batch;
    this.#pending = [];
    this.#frameCount = 0;
    const last = batch.at(-1)?.seq ?? this.flushedSeq;
    this.#flush = settled.then((stored) => {
      if (stored) {
        this.flushedSeq = last;
        this.#flushing = [];
      } else this.#putBack(batch, count);
      this.#flush = undefined;
    });
    return batch.map(offerFrame);
  }

  /**
   * Takes the pending frames for the statement that commits a step, `closing` after them. One of `committed` and
   * `putBack` must follow. Readers see the closing frames only once they are committed.
   */
  takePending(closing: readonly NewFrame[]): { frames: StoredFrame[]; committed: () => void; putBack: () => void } {
    const batch = this.#pending;
    const count = this.#frameCount;
    const before = this.#seq;
    this.#flushing = batch;
    this.#pending = [];
    this.#frameCount = 0;
    const added = closing.map((frame) => ({ ...frame, seq: ++this.#seq, created_at: timestampNow() }));
    return {
      frames: [...batch.map(offerFrame), ...added],
      committed: () => {
        this.flushedSeq = this.#seq;
        this.#flushing = [];
        this.showText();
        for (const frame of added) this.#show(frame.type, frame.data, frame.seq);
      },
      putBack: () => {
        this.#seq = before;
        this.#putBack(batch, count);
      },
    };
  }

  /** Ends the execution here. */
  end(row: RunRow | undefined): void {
    this.ended = true;
    this.#resolveDone(row);
  }
}

let toShow: LiveTurn[] = [];

/** All turns together, at the end of this turn of the event loop. */
function scheduleShowing(turn: LiveTurn): void {
  if (toShow.push(turn) === 1) setImmediate(showTexts);
}

function showTexts(): void {
  const turns = toShow;
  toShow = [];
  for (const turn of turns) turn.showText();
}

function offerFrame(frame: PendingFrame): StoredFrame {
  frame.offered = true;
  return storedFrame(frame);
}

function storedFrame({ seq, type, data, pieces, createdAt }: PendingFrame): StoredFrame {
  return { seq, type, data: pieces === undefined ? data : { ...data, deltas: pieces }, created_at: createdAt };
}

let cachedAt = 0;
let cachedText = '';

/** The time in ISO-8601; one string a millisecond, for thousands of frames share it. */
function timestampNow(): string {
  const now = systemClock.now().getTime();
  if (now !== cachedAt) {
    cachedAt = now;
    cachedText = new Date(now).toISOString();
  }
  return cachedText;
}
