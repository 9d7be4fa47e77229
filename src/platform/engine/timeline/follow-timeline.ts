/**
 * Streams a run's timeline to one reader, from any point: first from the store, then from the memory of the executing
 * replica, then live. Every character comes once and in order, perhaps in larger pieces. A reader that falls behind
 * receives no live frames and catches up from the store, so that it never grows memory. One that disconnects never stops
 * the run.
 */

import type { Database } from '../../../kernel/db/database.ts';
import { type EventSink, type EventSource, eventFrame } from '../../../kernel/http/event-stream.ts';
import { isStorageFault, STORAGE_RETRY_AFTER_SECONDS } from '../../../kernel/http/storage-faults.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { StoredFrame } from '../store/stored-frame.ts';
import { isSettled } from '../turn.ts';
import { CLOSING_TYPES, RESTING_TYPES, type ShownFrame, showStoredFrame } from './frames.ts';
import type { LiveTurn } from './live-turn.ts';
import { readFrames, readStatus } from './read-timeline.ts';
import type { RunSignals, RunWatch } from './run-signals.ts';

/** How long a reader on another replica waits for a wake-up before it polls the store. */
const POLL_MS = 2_000;

export interface TimelineReader {
  readonly db: Database;
  readonly signals: RunSignals;
  readonly findLive: (runId: string) => LiveTurn | undefined;
  /** Fires when the server drains. */
  readonly draining: AbortSignal;
}

export interface FollowedRun {
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
}

/** Takes frames in order. As an EventSink: `write` says whether the reader keeps up, `drained` when it has caught up. */
export interface FrameSink {
  write(frames: readonly ShownFrame[]): boolean;
  readonly behind: boolean;
  drained(): Promise<void>;
}

/**
 * Why the frames ended: the run rests (or nothing will follow), the reader disconnected, or this server drains and
 * another continues the run.
 */
export type FollowEnd = 'rested' | 'closed' | 'draining';

/** The run's timeline in its native wire form: the frames beyond `after`. See `followTimeline`. */
export function streamTimeline(reader: TimelineReader, run: FollowedRun, after: number): EventSource {
  return async (sink, closed) => {
    try {
      const end = await followTimeline(reader, run, after, wireSink(sink), closed);
      if (end === 'draining') sink.write(detachedFrame(run, end, 1_000));
    } catch (error) {
      // The run goes on once the store is back: the reader is told to come again rather than that it has ended.
      if (isStorageFault(error))
        sink.write(detachedFrame(run, 'storage_unavailable', STORAGE_RETRY_AFTER_SECONDS * 1_000));
      throw error;
    }
  };
}

function wireSink(sink: EventSink): FrameSink {
  return {
    write(frames) {
      const [first] = frames;
      return sink.write(
        frames.length === 1 && first !== undefined ? first.wire : frames.map(({ wire }) => wire).join(''),
      );
    },
    get behind() {
      return sink.behind;
    },
    drained: () => sink.drained(),
  };
}

/**
 * Gives the frames beyond `after` to the sink. Ends after a frame at which the run rests, or at once where none will
 * follow; a reader who has seen a pause waits for the run to go on.
 */
export async function followTimeline(
  reader: TimelineReader,
  run: FollowedRun,
  after: number,
  sink: FrameSink,
  closed: AbortSignal,
): Promise<FollowEnd> {
  // Opened before the first look, so that no change between a look and the wait is missed.
  const watch = reader.signals.watch(run.runId);
  try {
    return await followRun(reader, run, after, watch, sink, closed);
  } finally {
    watch.close();
  }
}

async function followRun(
  reader: TimelineReader,
  run: FollowedRun,
  after: number,
  watch: RunWatch,
  sink: FrameSink,
  closed: AbortSignal,
): Promise<FollowEnd> {
  let gone: AbortSignal | undefined;
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
    if (settled) return 'rested';
    settled = isSettled(await readStatus(reader.db, run.projectId, run.runId));
    // The closing frames may have been stored after the read above: read once more.
    if (settled) continue;
    if (reader.draining.aborted) return 'draining';
    gone ??= AbortSignal.any([closed, reader.draining]);
    await watch.next(POLL_MS, gone);
  }
  return rested ? 'rested' : 'closed';
}

async function writeStored(
  db: Database,
  run: Omit<FollowedRun, 'smithId'>,
  after: number,
  sink: FrameSink,
): Promise<{ cursor: number; rested: boolean; count: number }> {
  const frames = await readFrames(tenantDb(db, run.projectId), run.runId, after);
  let cursor = after;
  const shown = frames.map((frame) => {
    const each = showStoredFrame(run.runId, frame, cursor);
    cursor = frame.seq;
    return each;
  });
  if (shown.length > 0) sink.write(shown);
  const rested = await restsAt(db, run, frames.at(-1));
  return { cursor, rested, count: frames.length };
}

/** Whether nothing follows the frame. A pause from which the run has resumed is an ordinary frame. */
async function restsAt(
  db: Database,
  run: Omit<FollowedRun, 'smithId'>,
  frame: StoredFrame | undefined,
): Promise<boolean> {
  if (frame === undefined || !RESTING_TYPES.has(frame.type)) return false;
  if (CLOSING_TYPES.has(frame.type)) return true;
  // Status first: if the run is paused now, every frame behind this one is stored already.
  if ((await readStatus(db, run.projectId, run.runId)) !== 'paused') return false;
  return (await readFrames(tenantDb(db, run.projectId), run.runId, frame.seq)).length === 0;
}

/** Follows the live turn until it rests or ends, or the reader disconnects or falls behind. */
async function followLive(
  live: LiveTurn,
  after: number,
  sink: FrameSink,
  closed: AbortSignal,
): Promise<{ cursor: number; rested: boolean }> {
  let cursor = after;
  let rested = false;
  const missed = live.unflushedAfter(cursor);
  if (missed.length > 0) sink.write(missed);
  cursor = missed.at(-1)?.seq ?? cursor;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const unlisten = live.listen((frame) => {
    if (sink.behind) return;
    const keepsUp = sink.write([frame]);
    cursor = frame.seq;
    rested = RESTING_TYPES.has(frame.type);
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

/** Tells a reader that this server shows no more of the run, why, and where to reconnect. Not part of the timeline, hence without a number. */
function detachedFrame(run: FollowedRun, reason: 'draining' | 'storage_unavailable', retryMs: number): string {
  const data = {
    v: 1,
    run_id: run.runId,
    type: 'stream.detached',
    reason,
    resume: `/v1/smiths/${run.smithId}/runs/${run.runId}/events`,
  };
  return `retry: ${retryMs}\n${eventFrame('stream.detached', JSON.stringify(data))}`;
}
