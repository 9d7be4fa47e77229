/**
 * A run's timeline to one reader, from any point, live. What is stored is read; what is only in the memory of the
 * executing replica follows; then frames as they happen. Every character once and in order, perhaps in larger pieces. A
 * reader that falls behind stops receiving live frames and catches up from the store, so it never grows memory; one that
 * goes away never stops the run.
 */
import type { Database } from '../../kernel/db/database.ts';
import { type EventSink, type EventSource, eventFrame } from '../../kernel/http/event-stream.ts';
import type { StoredFrame } from './advance-turn.ts';
import { CLOSING_TYPES, type LiveTurn, RESTING_TYPES, renderStoredFrame } from './live-turn.ts';
import { readFrames, readStatus } from './read-timeline.ts';
import type { RunSignals, RunWatch } from './run-signals.ts';
import { isSettled } from './turn.ts';

/** How long a reader on another replica trusts wake-ups before it looks again by itself. */
const POLL_MS = 2_000;

export interface TimelineReader {
  readonly db: Database;
  readonly signals: RunSignals;
  readonly findLive: (runId: string) => LiveTurn | undefined;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
}

/**
 * Streams the frames beyond `after`. Ends after a frame at which the run rests, or at once where none will follow; a
 * reader who has seen a pause waits for the run to go on.
 */
export function streamTimeline(
  reader: TimelineReader,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  after: number,
): EventSource {
  return async (sink, closed) => {
    // Opened before the first look, so that what happens between a look and the wait for news is not missed.
    const watch = reader.signals.watch(run.runId);
    try {
      await followRun(reader, run, after, watch, sink, closed);
    } finally {
      watch.close();
    }
  };
}

async function followRun(
  reader: TimelineReader,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  after: number,
  watch: RunWatch,
  sink: EventSink,
  closed: AbortSignal,
): Promise<void> {
  const gone = AbortSignal.any([closed, reader.draining]);
  let cursor = after;
  let rested = false;
  let settled = false;
  while (!closed.aborted && !rested) {
    if (sink.behind) await sink.drained();
    const live = reader.findLive(run.runId);
    const flushedSeq = live?.flushedSeq ?? 0;
    if (live !== undefined && !live.ended && flushedSeq <= cursor) {
      ({ cursor, rested } = await followLive(live, cursor, sink, closed));
      continue;
    }
    const stored = await writeStored(reader.db, run, cursor, sink);
    ({ cursor, rested } = stored);
    if (stored.count > 0 || rested || live !== reader.findLive(run.runId)) continue;
    if (live !== undefined && !live.ended) {
      // The store has nothing up to there: the numbers of a new attempt begin further on.
      cursor = Math.max(cursor, flushedSeq);
      continue;
    }
    if (settled) return;
    settled = isSettled(await readStatus(reader.db, run.projectId, run.runId));
    // The frames that settled it may have come after the look for frames: one more look.
    if (settled) continue;
    if (reader.draining.aborted) {
      sink.write(detachedFrame(run));
      return;
    }
    await watch.next(POLL_MS, gone);
  }
}

async function writeStored(
  db: Database,
  run: { readonly projectId: string; readonly runId: string },
  after: number,
  sink: EventSink,
): Promise<{ cursor: number; rested: boolean; count: number }> {
  const frames = await readFrames(db, run.projectId, run.runId, after);
  let cursor = after;
  let text = '';
  for (const frame of frames) {
    text += renderStoredFrame(run.runId, frame, cursor);
    cursor = frame.seq;
  }
  if (text !== '') sink.write(text);
  const rested = await restsAt(db, run, frames.at(-1));
  return { cursor, rested, count: frames.length };
}

/** Whether nothing follows the frame. A pause that the run has since left is one frame among others. */
async function restsAt(
  db: Database,
  run: { readonly projectId: string; readonly runId: string },
  frame: StoredFrame | undefined,
): Promise<boolean> {
  if (frame === undefined || !RESTING_TYPES.has(frame.type)) return false;
  if (CLOSING_TYPES.has(frame.type)) return true;
  // In this order: what a run that is paused now has behind the frame was there before.
  if ((await readStatus(db, run.projectId, run.runId)) !== 'paused') return false;
  return (await readFrames(db, run.projectId, run.runId, frame.seq)).length === 0;
}

/** Follows the live turn until it rests or ends, the reader goes or falls behind. */
async function followLive(
  live: LiveTurn,
  after: number,
  sink: EventSink,
  closed: AbortSignal,
): Promise<{ cursor: number; rested: boolean }> {
  let cursor = after;
  let rested = false;
  for (const frame of live.unflushedAfter(cursor)) {
    sink.write(frame.wire);
    cursor = frame.seq;
  }
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const unlisten = live.listen((seq, type, wire) => {
    if (sink.behind) return;
    const keepsUp = sink.write(wire);
    cursor = seq;
    rested = RESTING_TYPES.has(type);
    if (!keepsUp || rested) stop();
  });
  const onClosed = () => stop();
  closed.addEventListener('abort', onClosed, { once: true });
  if (closed.aborted || sink.behind || live.ended) stop();
  await Promise.race([stopped, live.done]);
  unlisten();
  closed.removeEventListener('abort', onClosed);
  return { cursor, rested };
}

/** Tells a reader that this server goes away and where the timeline goes on. Not a frame of the timeline: no number. */
function detachedFrame(run: { readonly smithId: string; readonly runId: string }): string {
  const data = {
    v: 1,
    run_id: run.runId,
    type: 'stream.detached',
    reason: 'draining',
    resume: `/v1/smiths/${run.smithId}/runs/${run.runId}/events`,
  };
  return `retry: 1000\n${eventFrame('stream.detached', JSON.stringify(data))}`;
}
