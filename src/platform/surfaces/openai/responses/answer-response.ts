/** The answer to whoever asks for a response: its events as they happen, or the response as JSON. */

import type { EventSink } from '../../../../kernel/http/event-stream.ts';
import { EventStream, eventFrame } from '../../../../kernel/http/event-stream.ts';
import { isStorageFault, STORAGE_RETRY_AFTER_SECONDS } from '../../../../kernel/http/storage-faults.ts';
import type { Engine, FrameSink } from '../../../engine/index.ts';
import { tenantDb } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import type { BegunSegment } from '../../begin-segment.ts';
import { waitForRest } from '../../wait-for-rest.ts';
import type { ResponseFold } from './fold-response.ts';
import type { ResponseEvent } from './item-log.ts';
import { beginFold, foldStored, type ResponseSegment, responseOf } from './response-segment.ts';

export interface StreamOptions {
  /** Only the events behind this number; -1: all. */
  readonly after?: number | undefined;
  readonly include?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The response's events from the first, live until it ends. */
export function streamResponse(engine: Engine, segment: ResponseSegment, options: StreamOptions = {}): EventStream {
  const { after = -1, include, headers } = options;
  return new EventStream(
    async (sink, closed) => {
      const fold = await beginFold(tenantDb(engine.db, segment.run.project_id), segment, include);
      const over = new AbortController();
      const opening = wireEvents(fold.open(), after);
      // A chunk without content would end the stream.
      if (opening !== '') sink.write(opening);
      const { run, after: before } = segment;
      const key = { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
      const frames = foldingSink(sink, fold, after, () => over.abort());
      try {
        const end = await engine.follow(key, before, frames, AbortSignal.any([closed, over.signal]));
        if (end === 'draining' && !fold.ended) sink.write(leaveOff(fold, GOING_AWAY));
      } catch (error) {
        if (isStorageFault(error) && !fold.ended) sink.write(leaveOff(fold, STORE_FAILED));
        throw error;
      }
    },
    200,
    headers,
  );
}

function foldingSink(sink: EventSink, fold: ResponseFold, after: number, onEnd: () => void): FrameSink {
  return {
    write(frames) {
      const events = frames.flatMap((frame) => fold.fold(frame));
      const text = wireEvents(events, after);
      const keepsUp = text === '' ? !sink.behind : sink.write(text);
      if (fold.ended) onEnd();
      return keepsUp;
    },
    get behind() {
      return sink.behind;
    },
    drained: () => sink.drained(),
  };
}

function wireEvents(events: readonly ResponseEvent[], after: number): string {
  return events
    .filter((event) => event.sequence_number > after)
    .map((event) => eventFrame(event.type, JSON.stringify(event)))
    .join('');
}

/** Why a stream ends before its response does, and when to come back. */
interface LeavingOff {
  readonly code: string;
  readonly why: string;
  readonly retryMs: number;
}

const GOING_AWAY: LeavingOff = {
  code: 'service_overloaded',
  why: 'This server is going away; the response goes on.',
  retryMs: 1_000,
};
const STORE_FAILED: LeavingOff = {
  code: 'storage_unavailable',
  why: 'The database is not answering; the response goes on once it does.',
  retryMs: STORAGE_RETRY_AFTER_SECONDS * 1_000,
};

/**
 * The response goes on, elsewhere or later. No event of the response: it repeats the number of the last one, so that whoever
 * keeps the last number goes on behind it. Clients disagree on where an error's members stand.
 */
function leaveOff(fold: ResponseFold, { code, why, retryMs }: LeavingOff): string {
  const number = fold.lastNumber;
  const message = `${why} Follow it with \`GET /v1/responses/${String(fold.response.id)}?stream=true&starting_after=${number}\`.`;
  const error = { code, message, param: null };
  const event = { type: 'error', sequence_number: number, ...error, error: { type: 'api_error', ...error } };
  return `retry: ${retryMs}\n${eventFrame('error', JSON.stringify(event))}`;
}

/** The response once it has ended; as it stands when the caller leaves or this server drains first. */
export async function awaitResponse(
  engine: Engine,
  { segment, live }: Pick<BegunSegment, 'segment' | 'live'>,
  signal: AbortSignal,
): Promise<JsonObject> {
  await waitForRest(engine, { segment, live }, signal);
  return (await foldStored(tenantDb(engine.db, segment.run.project_id), responseOf(segment))).response;
}
