/** A turn as the caller of a tool hears of it: its reply in one piece, and on the way what was said so far. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { setTicker, setTimer } from '../../kernel/clock/timers.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { type Engine, getRun } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { AnswerText, collectAnswer, type Segment } from '../surfaces/index.ts';
import type { CallContext } from './exchange.ts';
import { replyOf } from './reply-result.ts';

/** Clients give up after a minute, unless they are told of progress and heed it. */
export const REPLY_WAIT_MS = 50_000;
const PROGRESS_EVERY_MS = 1_000;
/** Also while nothing is said, so that whoever waits as long as there is progress does. */
const SAY_SOMETHING_AFTER = 5;
const PROGRESS_CHARS = 200;

/** `before`: what was said in earlier segments. Resolves once the turn rests, or has taken too long to wait for; undefined when the client has gone. */
export async function awaitReply(
  engine: Engine,
  segment: Segment,
  { gone, report }: Pick<CallContext, 'gone' | 'report'>,
  { waitMs, before = [] }: { readonly waitMs: number; readonly before?: readonly string[] },
): Promise<CallToolResult | undefined> {
  const { run } = segment;
  const said = new AnswerText();
  const patience = new AbortController();
  const timer = setTimer(() => patience.abort('waited'), waitMs, { keepsProcess: true });
  const stop = report === undefined ? undefined : startReports(run.id, said, report);
  try {
    const answered = await collectAnswer(engine, segment, AbortSignal.any([gone, patience.signal]), said);
    if (answered !== undefined) {
      if (answered.status === 'completed')
        return replyOf(run, 'completed', [...before, answered.refusal ?? answered.text]);
      const tools = answered.approvals.map(({ tool }) => tool);
      return replyOf(run, 'paused', [...before, answered.text, pausedSentence(run.id, tools)]);
    }
    return gone.aborted ? undefined : goesOn(segment);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // What the run failed with may have the code with which this server leaves a turn that goes on.
    const { status } = await getRun(tenantDb(engine.db, run.project_id), run.id);
    if (status === 'cancelled') return replyOf(run, status, ['The turn was cancelled.']);
    return status === 'failed' ? replyOf(run, status, [`The turn failed: ${error.message}`]) : goesOn(segment);
  } finally {
    timer.cancel();
    stop?.();
  }
}

function goesOn({ run }: Segment): CallToolResult {
  return replyOf(run, 'in_progress', [`The turn goes on. Call get_reply with the run_id ${run.id} for the reply.`]);
}

function pausedSentence(runId: string, tools: readonly string[]): string {
  const what = tools.length === 0 ? 'somebody' : `somebody’s decision on ${tools.join(', ')}`;
  return `The turn waits for ${what}. Call get_reply with the run_id ${runId} for the reply.`;
}

/** Tells which turn it is at once, then the end of what was said, as it changes. */
function startReports(runId: string, said: AnswerText, report: (message: string) => void): () => void {
  let told = '';
  let silent = 0;
  report(`The turn ${runId} has begun.`);
  const timer = setTicker(() => {
    const text = said.text.slice(-PROGRESS_CHARS).toWellFormed();
    silent += 1;
    if (text === told && silent < SAY_SOMETHING_AFTER) return;
    silent = 0;
    told = text;
    report(text === '' ? `The turn ${runId} goes on.` : text);
  }, PROGRESS_EVERY_MS);
  return () => timer.cancel();
}
