/** A turn as its visitor reads it: as a stream that can be lost and taken up again, or in one piece. */
import { ApiError } from '../../kernel/http/errors.ts';
import { EventStream } from '../../kernel/http/event-stream.ts';
import { FAILED_SENTENCE } from '../channels/index.ts';
import { type Engine, getRun, type RunRow, type ShownFrame } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { AnswerText } from '../surfaces/index.ts';
import { type HostedPlace, type HostedStatus, newsFrame, readNews, sentenceOf } from './hosted-frames.ts';

/** `run.started`, in whose place the status stands that begins the stream. */
const FIRST_FRAME = 1;
const SENTENCE_GAP = '\n\n';

export interface HostedAnswer {
  /** Null: no turn began. */
  readonly run_id: string | null;
  readonly thread_id: string | null;
  readonly status: HostedStatus;
  readonly message: string;
}

/** The frames beyond `after`. A stream that ends without a status other than `in_progress` goes on when it is asked for again. */
export function streamToVisitor(engine: Engine, run: RunRow, after: number): EventStream {
  const place = placeOf(run);
  return new EventStream(async (sink, closed) => {
    if (after < FIRST_FRAME) sink.write(newsFrame(place, { type: 'status', status: 'in_progress' }, FIRST_FRAME));
    let isTold = false;
    const render = (frame: ShownFrame): string => {
      const news = readNews(frame);
      if (news === undefined) return '';
      isTold = news.type === 'status';
      return newsFrame(place, news, frame.seq);
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
    if (end !== 'rested' || isTold) return;
    // Whoever had read everything is told again how it ended.
    const { status } = await getRun(tenantDb(engine.db, run.project_id), run.id);
    sink.write(newsFrame(place, { type: 'status', status }));
  });
}

/** Resolves once the turn rests. Throws `service_overloaded` where it goes on at another replica. */
export async function collectForVisitor(engine: Engine, run: RunRow, signal: AbortSignal): Promise<HostedAnswer> {
  const said = new AnswerText();
  let status = 'in_progress' as HostedStatus;
  const take = (frame: ShownFrame): void => {
    const news = readNews(frame);
    if (news?.type === 'text') said.showText(news.text, news.part);
    if (news?.type === 'reset') said.restartFrom(news.part);
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
  const parts = [status === 'failed' ? '' : said.text, sentenceOf(status) ?? ''];
  const message = parts.filter((part) => part !== '').join(SENTENCE_GAP);
  return { run_id: run.id, thread_id: run.thread_id, status, message };
}

/** Where no turn could begin. */
export function streamFailure(threadId: string | null): EventStream {
  return new EventStream(async (sink) => {
    sink.write(newsFrame({ runId: null, threadId }, { type: 'status', status: 'failed' }));
  });
}

/** Where no turn could begin. */
export function tellFailure(threadId: string | null): HostedAnswer {
  return { run_id: null, thread_id: threadId, status: 'failed', message: FAILED_SENTENCE };
}

function placeOf(run: RunRow): HostedPlace {
  return { runId: run.id, threadId: run.thread_id };
}

function followed(run: RunRow) {
  return { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
}

function goesOn(): ApiError {
  return new ApiError('service_overloaded', {
    retryAfterSeconds: 1,
    message: 'The answer goes on elsewhere. Send the request again with its `Idempotency-Key` to get it.',
  });
}
