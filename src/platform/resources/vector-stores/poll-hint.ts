import type { Clock } from '../../../kernel/clock/clock.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';

const MIN_POLL_MS = 200;
const MAX_POLL_MS = 1_000;
/** A poll is never rarer than a tenth of the time that the work took so far. */
const SHARE_OF_AGE = 0.1;

/** The reply, and when to ask again while the work goes on: clients wait five seconds where they are not told. */
export function replyToPoll<T extends { readonly status: string; readonly created_at: number }>(
  body: T,
  clock: Clock,
): HttpReply<T> {
  if (body.status !== 'in_progress') return new HttpReply(200, body);
  const ageMs = clock.now().getTime() - body.created_at * 1000;
  const afterMs = Math.min(Math.max(Math.round(ageMs * SHARE_OF_AGE), MIN_POLL_MS), MAX_POLL_MS);
  return new HttpReply(200, body, { 'openai-poll-after-ms': String(afterMs) });
}
