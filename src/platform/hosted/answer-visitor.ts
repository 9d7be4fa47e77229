/** A turn as its visitor reads it: as a stream that can be lost and taken up again, or in one piece. */
import { ApiError } from '../../kernel/http/errors.ts';
import { EventStream } from '../../kernel/http/event-stream.ts';
import { type Engine, getRun, type RunRow, type ShownFrame } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { type HostedStatus, newsFrame, readNews, sentenceOf, statusFrame } from './hosted-frames.ts';

/** `run.started`, in whose place the status stands that begins the stream. */
const FIRST_FRAME = 1;
const PART_GAP = '\n\n';

export interface HostedAnswer {
  /** Null: no turn began. */
  readonly run_id: string | null;
  readonly thread_id: string | null;
  readonly status: HostedStatus;
  readonly message: string;
}

/** The frames beyond `after`. A stream that ends without a status other than `in_progress` goes on when it is asked for again. */
export function streamToVisitor(engine: Engine, run: RunRow, after: number): EventStream {
  const place = { runId: run.id, threadId: run.thread_id };
  return new EventStream(async (sink, closed) => {
    if (after < FIRST_FRAME) sink.write(statusFrame(place, 'in_progress', FIRST_FRAME));
    let isTold = false;
    const render = (frame: ShownFrame): string => {
      const news = readNews(frame);
      if (news === undefined) return '';
      isTold = news.type === 'status';
      return news.type === 'status' ? statusFrame(place, news.status, frame.seq) : newsFrame(run.id, news, frame.seq);
    };
    const end = await engine.follow(
      followed(run),
      Math.max(after, FIRST_FRAME),
      {
        write: (frames) => sink.write(frames.map(render).join('')),
        get behind() {
          return sink.behind;
        },
        drained: () => sink.drained(),
      },
      closed,
    );
    // Whoever had read everything is told again how it ended.
    if (end === 'rested' && !isTold) sink.write(statusFrame(place, (await readRun(engine, run)).status));
  });
}

/** Resolves once the turn rests. Throws `service_overloaded` where it goes on at another replica. */
export async function collectForVisitor(engine: Engine, run: RunRow, signal: AbortSignal): Promise<HostedAnswer> {
  const parts = new Map<number, string>();
  let status: HostedStatus = 'in_progress';
  const take = (frame: ShownFrame): void => {
    const news = readNews(frame);
    if (news?.type === 'text') parts.set(news.part, (parts.get(news.part) ?? '') + news.text);
    if (news?.type === 'reset') for (const part of [...parts.keys()]) if (part >= news.part) parts.delete(part);
    if (news?.type === 'status') status = news.status;
  };
  const write = (frames: readonly ShownFrame[]): boolean => {
    for (const frame of frames) take(frame);
    return true;
  };
  const end = await engine.follow(
    followed(run),
    FIRST_FRAME,
    { write, behind: false, drained: () => Promise.resolve() },
    signal,
  );
  if (end !== 'rested') throw goesOn();
  return { run_id: run.id, thread_id: run.thread_id, status, message: textOf(parts, status) };
}

function textOf(parts: ReadonlyMap<number, string>, status: HostedStatus): string {
  const said = status === 'failed' ? [] : [...parts.values()];
  return [...said, sentenceOf(status) ?? ''].filter((part) => part !== '').join(PART_GAP);
}

function followed(run: RunRow) {
  return { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
}

function readRun(engine: Engine, run: RunRow): Promise<RunRow> {
  return getRun(tenantDb(engine.db, run.project_id), run.id);
}

function goesOn(): ApiError {
  return new ApiError('service_overloaded', {
    retryAfterSeconds: 1,
    message: 'The answer goes on elsewhere. Send the request again with its `Idempotency-Key` to get it.',
  });
}
