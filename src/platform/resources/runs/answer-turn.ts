/** The answer to whoever started or resumed a turn: its stream, or the run once it rests. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { EventStream, eventFrame } from '../../../kernel/http/event-stream.ts';
import { HttpReply, type IdempotencyClaim } from '../../../kernel/http/operation.ts';
import {
  type ClaimedTurn,
  type Engine,
  keepAnswer,
  type RunRow,
  runAsAnswered,
  type TurnClaim,
  wireFrame,
} from '../../engine/index.ts';
import { type BegunSegment, waitForRest } from '../../surfaces/index.ts';
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

export interface AnswerOptions {
  /** Of an answer with the run. */
  readonly status: 200 | 201;
  readonly stream: boolean;
  readonly prefer: WaitPreference;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly signal: AbortSignal;
}

/** The claim of a request's key, for the statement that begins what it asks for. */
export function claimOf({ idempotency, stream, prefer }: AnswerOptions): TurnClaim | undefined {
  return idempotency === undefined ? undefined : { ...idempotency, atOnce: !stream && prefer.waitMs === 0 };
}

/**
 * A repeated request gets the answer that the first one got: the run as it stood then, or for a stream a pointer to the
 * run. Throws `idempotency_in_progress` where the first one waits for it still.
 */
export async function answerTurn(
  engine: Engine,
  begun: BegunSegment,
  options: AnswerOptions,
): Promise<HttpReply<Run> | EventStream> {
  const { segment, claimed } = begun;
  if (claimed !== undefined)
    return options.stream ? streamDuplicate(segment.run) : answerAgain(claimed, options.status);
  if (!options.stream) return answerWithRun(engine, begun, options);
  return segment.number === 1
    ? streamFromStart(engine, segment.run, options.status)
    : streamAfter(engine, segment.run, segment.after);
}

function answerAgain(claimed: ClaimedTurn, status: number): HttpReply<Run> {
  const run = runAsAnswered(claimed);
  if (run === undefined) throw new ApiError('idempotency_in_progress', { retryAfterSeconds: 1 });
  return new HttpReply(status, renderRun(run), { 'idempotent-replay': 'true' });
}

/** The run as JSON: once it rests, or as it stands when the preference says so, the caller leaves or the server drains. */
async function answerWithRun(
  engine: Engine,
  begun: BegunSegment,
  { status, prefer, idempotency, signal }: AnswerOptions,
): Promise<HttpReply<Run>> {
  const { waitMs, applied } = prefer;
  const headers = applied === undefined ? {} : { 'preference-applied': applied };
  if (waitMs === 0) return new HttpReply(status, renderRun(begun.segment.run), headers);
  const timeout = waitMs === undefined ? undefined : abortAfter(waitMs);
  const run = await waitForRest(engine, begun, timeout === undefined ? signal : AbortSignal.any([signal, timeout]));
  // What was cut short by a server that goes away is made up for by its repetition; what was asked for is kept.
  if (idempotency !== undefined && timeout?.aborted === true && run.status === 'in_progress') {
    await keepAnswer(engine.db, idempotency, run);
  }
  return new HttpReply(status, renderRun(run), headers);
}

/** The run's stream from its beginning; the first frame is known and saves a look into the store. */
function streamFromStart(engine: Engine, run: RunRow, status: number): EventStream {
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

export function streamAfter(engine: Engine, run: RunRow, after: number): EventStream {
  return new EventStream(engine.stream(streamKey(run), after), 200);
}

/** What a repeated streaming request gets: one frame that points to the run which the key started or resumed. */
function streamDuplicate(run: RunRow): EventStream {
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
