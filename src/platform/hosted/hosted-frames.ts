/** What visitors are shown of a turn: what it says, and how it stands. Nothing of tools, thoughts, models or errors. */
import { eventFrame } from '../../kernel/http/event-stream.ts';
import { FAILED_SENTENCE, PAUSED_SENTENCE } from '../channels/index.ts';
import type { RunRow, ShownFrame } from '../engine/index.ts';

export type HostedStatus = RunRow['status'];

/** `part`: texts of a turn before and behind calls of tools; a blank line stands between two. */
export type HostedNews =
  | { readonly type: 'text'; readonly text: string; readonly part: number }
  /** The parts from this one on are said again. */
  | { readonly type: 'reset'; readonly part: number }
  | { readonly type: 'status'; readonly status: HostedStatus };

/** Where the news comes from; null where no turn began. */
export interface HostedPlace {
  readonly runId: string | null;
  readonly threadId: string | null;
}

const STATUSES: Readonly<Record<string, HostedStatus>> = {
  'run.completed': 'completed',
  'run.paused': 'paused',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
};
/** Undefined for what visitors are not shown. */
export function readNews({ type, data }: ShownFrame): HostedNews | undefined {
  if (type === 'message.delta') return { type: 'text', text: String(data.text), part: Number(data.step) };
  if (type === 'run.restarted') return { type: 'reset', part: Number(data.step) };
  const status = STATUSES[type];
  return status === undefined ? undefined : { type: 'status', status };
}

/** What is told beside a status. */
export function sentenceOf(status: HostedStatus): string | undefined {
  if (status === 'failed') return FAILED_SENTENCE;
  return status === 'paused' ? PAUSED_SENTENCE : undefined;
}

/** A frame of the stream. `seq`: its place on the timeline, from which a reader goes on. */
export function newsFrame(place: HostedPlace, news: HostedNews, seq?: number): string {
  return eventFrame(news.type, JSON.stringify(describeNews(place, news)), seq);
}

function describeNews({ runId: run_id, threadId: thread_id }: HostedPlace, news: HostedNews) {
  if (news.type !== 'status') return { v: 1, run_id, ...news };
  const { type, status } = news;
  const message = sentenceOf(status);
  return { v: 1, run_id, type, thread_id, status, ...(message === undefined ? {} : { message }) };
}
