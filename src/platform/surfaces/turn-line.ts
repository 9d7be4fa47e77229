/**
 * Where messages wait for a smith that is busy: one line a smith on each replica, whose head asks for the turn until it gets
 * it. The database decides who has the smith; replicas take turns as it happens.
 */
import { untilAborted } from '../../kernel/cancellation/until-aborted.ts';
import { abortAfter, setTimer } from '../../kernel/clock/timers.ts';
import { ApiError } from '../../kernel/http/errors.ts';

/** Somebody who is being looked at by a person waits no longer. */
const WAIT_MS = 30_000;
const MAX_WAITING = 100;
/** For turns that end on other replicas. */
const POLL_MS = 500;
const RETRY_AFTER_SECONDS = 5;

export interface SmithPlace {
  readonly projectId: string;
  readonly smithId: string;
}

export interface TurnLine {
  /** What `start` gives once the smith is free. Throws `conversation_locked` when that takes too long, and what `start` throws else. */
  startInLine<T>(place: SmithPlace, start: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** A turn has come to rest on this replica. */
  turnRested(place: SmithPlace): void;
}

interface Line {
  waiting: number;
  last: Promise<void>;
  wake: () => void;
}

export function createTurnLine(waitMs = WAIT_MS): TurnLine {
  const lines = new Map<string, Line>();
  return {
    async startInLine(place, start, signal) {
      const key = keyOf(place);
      const line = lines.get(key) ?? { waiting: 0, last: Promise.resolve(), wake: () => {} };
      if (line.waiting >= MAX_WAITING) throw busy();
      lines.set(key, line);
      line.waiting += 1;
      const patience = AbortSignal.any([signal, abortAfter(waitMs)]);
      const before = line.last;
      const { promise: left, resolve: leave } = Promise.withResolvers<void>();
      line.last = left;
      try {
        await unless(patience, before);
        return await startAtHead(line, start, patience);
      } finally {
        // Who gives up in the middle does not let those behind pass those before.
        void before.then(leave);
        line.waiting -= 1;
        if (line.waiting === 0) lines.delete(key);
      }
    },
    turnRested: (place) => lines.get(keyOf(place))?.wake(),
  };
}

async function startAtHead<T>(line: Line, start: () => Promise<T>, patience: AbortSignal): Promise<T> {
  for (;;) {
    // Before it is asked for: a turn that ends meanwhile is not missed.
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    line.wake = resolve;
    try {
      return await start();
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    const timer = setTimer(resolve, POLL_MS, { keepsProcess: true });
    await unless(patience, woken).finally(() => timer.cancel());
  }
}

/** Throws `conversation_locked` where the signal fires first; what is awaited never fails. */
async function unless(patience: AbortSignal, awaited: Promise<void>): Promise<void> {
  await untilAborted(awaited, patience).catch(() => {
    throw busy();
  });
}

function isBusy(error: unknown): boolean {
  return error instanceof ApiError && ['conversation_locked', 'concurrency_limit_exceeded'].includes(error.code);
}

function busy(): ApiError {
  return new ApiError('conversation_locked', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    message: 'Others are being answered at this moment. Send the message again in a few seconds.',
  });
}

function keyOf({ projectId, smithId }: SmithPlace): string {
  return `${projectId} ${smithId}`;
}
