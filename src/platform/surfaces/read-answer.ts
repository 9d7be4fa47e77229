/**
 * What a run says in one segment, piece by piece: text, thoughts, and at the end why it rests. Streamed and buffered
 * answers are both made of it, so they say the same.
 *
 * With a JSON format nothing is shown before the answer has been found to match: one that does not is asked for again,
 * and what was streamed cannot be taken back.
 */
import { ApiError, DO_NOT_RETRY } from '../../kernel/http/errors.ts';
import { type Engine, findRun, readTurnConfig, runTakenBack, type ShownFrame } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import type { JsonObject } from '../tables.ts';
import { type CountedUsage, type Segment, type Usage, usedSince } from './segment.ts';

export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

export interface PendingApproval {
  readonly id: string;
  readonly tool: string;
}

export interface Answered {
  readonly status: 'completed' | 'paused';
  readonly finishReason: 'stop' | 'length' | 'content_filter' | 'tool_calls';
  /** What the client is to run. */
  readonly calls: readonly FunctionCall[];
  /** What a person is to decide before the run goes on. */
  readonly approvals: readonly PendingApproval[];
  /** Of this segment. */
  readonly usage: Usage;
  /** What was said in place of an answer of the requested format. */
  readonly refusal: string | null;
}

export interface AnswerReader {
  /** A piece of what the model said in the model call at `step`. */
  showText(text: string, step: number): void;
  showReasoning(text: string, step: number): void;
  /** The steps from this one on are made again: what was said there does not count. */
  restartFrom(step: number): void;
  /** Whether it takes no more for now, and when it does again. */
  readonly behind: boolean;
  drained(): Promise<void>;
}

/**
 * Shows the segment to the reader. Resolves with its end; undefined when the reader has gone. Throws what the run failed
 * with, `run_cancelled` (neither is to be repeated), `service_overloaded` when this server goes away and the run goes on elsewhere, and
 * `storage_unavailable` when the database was interrupted and has lost it.
 */
export async function readAnswer(
  engine: Engine,
  { run, after, usedBefore }: Segment,
  reader: AnswerReader,
  closed: AbortSignal,
): Promise<Answered | undefined> {
  const rest = new AbortController();
  const frames = new AnswerFrames(reader, readTurnConfig(run.config).settings.answer.format.type === 'json');
  const end = await engine.follow(
    { projectId: run.project_id, smithId: run.smith_id, runId: run.id },
    after,
    {
      write(batch) {
        // A repeated request reads on what the run did after its first rest: that is another request's.
        if (frames.last === undefined) frames.take(batch);
        // With a reason: without one an error is made for it, stack and all.
        if (frames.last !== undefined) rest.abort('rested');
        return !reader.behind;
      },
      get behind() {
        return reader.behind;
      },
      drained: () => reader.drained(),
    },
    AbortSignal.any([closed, rest.signal]),
  );
  if (frames.last !== undefined) return describeEnd(frames.last, usedBefore, frames.refusal);
  if (closed.aborted) return undefined;
  if (end === 'draining') throw serverLeaves();
  if ((await findRun(tenantDb(engine.db, run.project_id), run.id)) === undefined) throw runTakenBack();
  throw new ApiError('run_failed', {
    headers: DO_NOT_RETRY,
    message: 'The run has ended without saying how. Read the run, then start it again.',
  });
}

class AnswerFrames {
  /** The frame at which the run rested. */
  last: ShownFrame | undefined;
  refusal: string | null = null;
  readonly #reader: AnswerReader;
  readonly #isJson: boolean;
  #json: { text: string; step: number } | undefined;

  constructor(reader: AnswerReader, isJson: boolean) {
    this.#reader = reader;
    this.#isJson = isJson;
  }

  take(batch: readonly ShownFrame[]): void {
    for (const [index, frame] of batch.entries()) {
      if (this.last !== undefined) return;
      // What is known not to count is not shown in the first place.
      if (isSaid(frame) && batch.slice(index + 1).some((later) => isMadeAgain(frame, later))) continue;
      this.#takeFrame(frame);
    }
  }

  #takeFrame(frame: ShownFrame): void {
    const { type, data } = frame;
    switch (type) {
      case 'message.delta':
        if (!this.#isJson) this.#reader.showText(String(data.text), Number(data.step));
        break;
      case 'reasoning':
        this.#reader.showReasoning(String(data.text), Number(data.step));
        break;
      case 'message.completed':
        if (data.content_type === 'application/json') {
          this.#json = { text: String(data.content), step: Number(data.step) };
        }
        break;
      case 'run.restarted':
        this.#reader.restartFrom(Number(data.step));
        break;
      case 'run.completed':
        this.#showJson(data.stop_reason === 'content_filter');
        this.last = frame;
        break;
      case 'run.paused':
      case 'run.failed':
      case 'run.cancelled':
        this.last = frame;
        break;
      default:
        break;
    }
  }

  #showJson(isRefused: boolean): void {
    if (this.#json === undefined) return;
    if (isRefused) this.refusal = this.#json.text;
    else this.#reader.showText(this.#json.text, this.#json.step);
  }
}

function isSaid({ type }: ShownFrame): boolean {
  return type === 'message.delta' || type === 'reasoning';
}

function isMadeAgain(said: ShownFrame, later: ShownFrame): boolean {
  return later.type === 'run.restarted' && Number(said.data.step) >= Number(later.data.step);
}

function describeEnd({ type, data }: ShownFrame, before: Usage, refusal: string | null): Answered {
  // Repeated by itself it would be a new turn, which nobody asked for and whose tools would run once more.
  if (type === 'run.failed') {
    const { code = 'run_failed', message } = (data.error ?? {}) as { code?: string; message?: string };
    throw new ApiError(code, { headers: DO_NOT_RETRY, ...(message === undefined ? {} : { message }) });
  }
  if (type === 'run.cancelled') throw new ApiError('run_cancelled', { headers: DO_NOT_RETRY });
  const usage = usedSince(before, data.usage as CountedUsage);
  if (type === 'run.completed') {
    const finishReason = readFinish(data.stop_reason);
    return { status: 'completed', finishReason, calls: [], approvals: [], usage, refusal };
  }
  const open = data.tool_calls as (FunctionCall & { status: string; approval_id?: string })[];
  return {
    status: 'paused',
    finishReason: 'tool_calls',
    calls: open.filter(({ status }) => status === 'requires_result'),
    approvals: open.flatMap(({ approval_id: id, name, status }) =>
      id === undefined || status !== 'requires_approval' ? [] : [{ id, tool: name }],
    ),
    usage,
    refusal: null,
  };
}

function readFinish(reason: unknown): 'stop' | 'length' | 'content_filter' {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

function serverLeaves(): ApiError {
  return new ApiError('service_overloaded', {
    retryAfterSeconds: 1,
    message:
      'This server is going away, and the run goes on elsewhere. Repeat the request with its `Idempotency-Key` to get ' +
      'the answer; without a key it starts another turn.',
  });
}
