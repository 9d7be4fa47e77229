/** The answer to whoever started or resumed a turn: its stream, or the run once it rests. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { EventStream, eventFrame } from '../../../kernel/http/event-stream.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import {
  type CreatedTurn,
  type Engine,
  type LiveTurn,
  type RunRow,
  waitForRest,
  wireFrame,
} from '../../engine/index.ts';
import { renderRun } from './render-run.ts';
import type { Run } from './schema.ts';

/** `Prefer` of RFC 7240: `respond-async` answers at once, `wait=N` after at most N seconds. */
export interface WaitPreference {
  readonly waitMs: number | undefined;
  readonly applied: string | undefined;
}

export function readPreference(prefer: string | string[] | undefined): WaitPreference {
  const words = [prefer ?? []]
    .flat()
    .join(',')
    .split(/[,;]/)
    .map((word) => word.trim().toLowerCase());
  if (words.includes('respond-async')) return { waitMs: 0, applied: 'respond-async' };
  const wait = words.map((word) => /^wait=(\d{1,5})$/.exec(word)?.[1]).find((seconds) => seconds !== undefined);
  if (wait === undefined) return { waitMs: undefined, applied: undefined };
  return { waitMs: Number(wait) * 1000, applied: `wait=${wait}` };
}

/** The answer to who asked for a new run. Throws `idempotency_in_progress` where the same request waits for it already. */
export async function answerCreated(
  engine: Engine,
  created: CreatedTurn,
  options: { readonly stream: boolean; readonly prefer: WaitPreference; readonly signal: AbortSignal },
): Promise<HttpReply<Run> | EventStream> {
  const { run } = created;
  const { stream, prefer, signal } = options;
  if (created.kind === 'started') {
    if (stream) return streamFromStart(engine, run, 201);
    return answerWithRun(engine, run, created.live, { status: 201, prefer, signal });
  }
  if (stream) return streamDuplicate(run);
  if (run.status === 'in_progress' && prefer.waitMs !== 0) {
    throw new ApiError('idempotency_in_progress', { retryAfterSeconds: 1 });
  }
  return new HttpReply(201, renderRun(run), { 'idempotent-replay': 'true' });
}

/** The run as JSON: once it rests, or as it stands when the preference says so, the caller leaves or the server drains. */
export async function answerWithRun(
  engine: Engine,
  run: RunRow,
  live: LiveTurn | undefined,
  options: { readonly status: number; readonly prefer: WaitPreference; readonly signal: AbortSignal },
): Promise<HttpReply<Run>> {
  const { waitMs, applied } = options.prefer;
  const headers = applied === undefined ? {} : { 'preference-applied': applied };
  if (waitMs === 0) return new HttpReply(options.status, renderRun(run), headers);
  const timeout =
    waitMs === undefined ? options.signal : AbortSignal.any([options.signal, AbortSignal.timeout(waitMs)]);
  const rested = await restOf(engine, run, live, timeout);
  return new HttpReply(options.status, renderRun(rested), headers);
}

async function restOf(engine: Engine, run: RunRow, live: LiveTurn | undefined, signal: AbortSignal): Promise<RunRow> {
  if (live === undefined) return waitForRest(engine, run, signal);
  const { promise: left, resolve } = Promise.withResolvers<undefined>();
  const onLeft = () => resolve(undefined);
  signal.addEventListener('abort', onLeft, { once: true });
  const row = await Promise.race([live.done, left]);
  signal.removeEventListener('abort', onLeft);
  // Undefined: the turn left this replica, or the caller has waited long enough.
  return row ?? waitForRest(engine, run, signal);
}

/** The run's stream from its beginning; the first frame is known and saves a look into the store. */
export function streamFromStart(engine: Engine, run: RunRow, status: number): EventStream {
  const opening = wireFrame(
    run.id,
    1,
    'run.started',
    { smith_id: run.smith_id, thread_id: run.thread_id, model: run.config.model },
    run.created_at.toISOString(),
  );
  const rest = engine.stream(streamKey(run), 1);
  return new EventStream((sink, closed) => {
    sink.write(opening);
    return rest(sink, closed);
  }, status);
}

export function streamAfter(engine: Engine, run: RunRow, after: number, status = 200): EventStream {
  return new EventStream(engine.stream(streamKey(run), after), status);
}

/** What a repeated streaming create gets: one frame that points to the run which the key started. */
export function streamDuplicate(run: RunRow): EventStream {
  const data = {
    v: 1,
    run_id: run.id,
    type: 'run.duplicate',
    status: run.status,
    thread_id: run.thread_id,
    events: `/v1/smiths/${run.smith_id}/runs/${run.id}/events`,
  };
  return new EventStream(
    async (sink) => {
      sink.write(eventFrame('run.duplicate', JSON.stringify(data)));
    },
    200,
    { 'idempotent-replay': 'true' },
  );
}

function streamKey(run: RunRow) {
  return { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
}
