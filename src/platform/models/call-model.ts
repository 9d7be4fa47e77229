import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { systemClock } from '../../kernel/clock/clock.ts';
import { ANSWER_CALLS_MAX, ANSWER_CHARS_MAX } from './answer-limits.ts';
import { demandsStream } from './buffered-answer.ts';
import type { ChatModel } from './chat-model.ts';
import { classifyFailure, type Failure, makeModelCallError } from './model-call-error.ts';
import { pause, planRetry, type RetryLimits } from './retry-plan.ts';
import { type StopReason, type UpstreamLimits, UpstreamStream } from './upstream-stream.ts';

export interface ModelCallLimits extends UpstreamLimits, RetryLimits {
  /** Until an answer that was asked for in one piece is there: providers send nothing before its end. */
  readonly bufferedTimeoutMs: number;
}

export const DEFAULT_MODEL_CALL_LIMITS: ModelCallLimits = {
  connectTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  bufferedTimeoutMs: 900_000,
  maxAttempts: 3,
  maxRetryAfterMs: 30_000,
  backoffBaseMs: 500,
  backoffMaxMs: 8000,
};

export interface RetryNotice {
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly kind: Failure['kind'];
  readonly status: number | undefined;
}

export interface ModelCall {
  readonly model: ChatModel;
  /** Without `abortSignal`: pass `signal`. */
  readonly options: LanguageModelV4CallOptions;
  /**
   * Nobody waits for the beginning of the answer: ask for it in one piece, which costs a fraction of a stream's work here
   * and there. A model that can only stream is asked for a stream instead.
   */
  readonly buffered?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: Partial<ModelCallLimits> | undefined;
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** Rejects when the signal is aborted. Replaced in tests. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
  /** 0 to 1, for the jitter. */
  readonly random?: (() => number) | undefined;
  /** Wall time in milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** Parts that carry nothing of the answer: after them alone the call can still be made again unseen. */
const PREAMBLE: ReadonlySet<LanguageModelV4StreamPart['type']> = new Set([
  'stream-start',
  'response-metadata',
  'raw',
  'ping',
]);

/** Models that refused to answer in one piece. */
const streamOnly = new WeakSet<ChatModel>();

/** Takes parts of an answer. The model is read on once what it returns has resolved; what it throws ends the call. */
export type TakeParts = (parts: readonly LanguageModelV4StreamPart[]) => void | Promise<void>;

/**
 * Calls a model and hands over the parts of its answer as they come, several at a time where several came together; the last
 * is `finish`. Failures before the first part of content are tried again where that may help (408, 409, 425, 429, 5xx,
 * the network); preamble parts of a failed attempt are never seen.
 *
 * Throws `ModelCallError`, the signal's reason within a few milliseconds of its abort, or what `take` throws. Whichever it is,
 * the upstream's socket is closed. Parts are taken by a function and not from an async generator, whose promises would be a
 * good part of what a token costs.
 */
export async function callModel(call: ModelCall, take: TakeParts): Promise<void> {
  const limits: ModelCallLimits = { ...DEFAULT_MODEL_CALL_LIMITS, ...call.limits };
  for (let attempt = 1; ; attempt++) {
    const buffered = call.buffered === true && !streamOnly.has(call.model);
    const upstream = new UpstreamStream(
      buffered ? { ...limits, connectTimeoutMs: limits.bufferedTimeoutMs } : limits,
      call.signal,
    );
    const answer = new AnswerParts(call);
    let refusal: { readonly reason: unknown } | undefined;
    let failure: Failure | undefined;
    try {
      await upstream.open((abortSignal) => call.model.ask({ ...call.options, abortSignal }, buffered));
      while (!answer.finished && failure === undefined) {
        const parts = await upstream.read();
        upstream.accept(parts);
        const shown = answer.take(parts);
        failure = answer.failure;
        if (shown.length === 0) continue;
        try {
          const taking = take(shown);
          if (taking !== undefined) await taking;
        } catch (reason) {
          refusal = { reason };
          break;
        }
      }
    } catch (error) {
      failure = describeThrown(error, upstream.stopReason, { buffered, answering: answer.begun }, call);
    } finally {
      upstream.close(answer.finished);
    }
    if (refusal !== undefined) throw refusal.reason;
    if (failure === undefined) return;
    if (buffered && demandsStream(failure)) {
      streamOnly.add(call.model);
      continue;
    }
    const delayMs = answer.begun ? undefined : planRetry(failure, attempt, limits, call.random ?? Math.random);
    if (delayMs === undefined) throw makeModelCallError(call.model, failure, attempt);
    call.onRetry?.({ attempt, delayMs, kind: failure.kind, status: failure.status });
    await (call.sleep ?? pause)(delayMs, call.signal);
  }
}

/** The parts of one attempt: which of them are shown, and what says that it ended well or failed. */
class AnswerParts {
  /** Whether content has been shown, after which nothing can be tried again. */
  begun = false;
  finished = false;
  failure: Failure | undefined;
  readonly #call: ModelCall;
  readonly #preamble: LanguageModelV4StreamPart[] = [];
  #chars = 0;
  #calls = 0;

  constructor(call: ModelCall) {
    this.#call = call;
  }

  /** What of the parts is to be shown: nothing before there is content, and nothing from a failure on. */
  take(parts: readonly LanguageModelV4StreamPart[] | undefined): LanguageModelV4StreamPart[] {
    if (parts === undefined) this.failure = this.#judge(CUT_OFF);
    const shown: LanguageModelV4StreamPart[] = [];
    for (const part of parts ?? []) {
      this.failure = this.#judge(readFailure(part, this.#call)) ?? this.#measure(part);
      if (this.failure !== undefined) break;
      if (!this.begun) {
        this.#preamble.push(part);
        if (PREAMBLE.has(part.type)) continue;
        this.begun = true;
        shown.push(...this.#preamble);
      } else {
        shown.push(part);
      }
      this.finished = part.type === 'finish';
      if (this.finished) break;
    }
    return shown;
  }

  #measure(part: LanguageModelV4StreamPart): Failure | undefined {
    if ('delta' in part) this.#chars += part.delta.length;
    if (part.type === 'tool-call') this.#calls += 1;
    if (this.#chars > ANSWER_CHARS_MAX) return tooLarge(`more than ${ANSWER_CHARS_MAX} characters`);
    return this.#calls > ANSWER_CALLS_MAX ? tooLarge(`more than ${ANSWER_CALLS_MAX} calls of tools`) : undefined;
  }

  /** A stream that never said anything was not cut off: it was no answer of a model in the first place. */
  #judge(failure: Failure | undefined): Failure | undefined {
    if (failure?.kind !== 'truncated' || this.begun) return failure;
    const isModel = this.#preamble.some(({ type }) => type === 'response-metadata');
    return isModel ? failure : { ...failure, kind: 'invalid_response' };
  }
}

/** What a part says is wrong; undefined for an ordinary one. */
function readFailure(part: LanguageModelV4StreamPart, call: ModelCall): Failure | undefined {
  if (part.type === 'error') return classifyFailure(part.error, wallMs(call));
  if (part.type !== 'finish') return undefined;
  if (part.finishReason.unified === 'interrupted') return CUT_OFF;
  return part.finishReason.unified === 'error' ? FAILED : undefined;
}

function tooLarge(what: string): Failure {
  return { kind: 'too_large', transient: false, text: `the answer has ${what}` };
}

const CUT_OFF: Failure = { kind: 'truncated', transient: false, text: 'The stream ended early' };
const FAILED: Failure = { kind: 'upstream', transient: false, text: 'The model reported an error without a reason' };

/** Rethrows what is not the upstream's: the caller's abort. */
function describeThrown(
  error: unknown,
  stop: StopReason | undefined,
  { buffered, answering }: { readonly buffered: boolean; readonly answering: boolean },
  call: ModelCall,
): Failure {
  if (stop !== undefined) {
    if (stop.type === 'aborted') throw stop.reason;
    const limits = { ...DEFAULT_MODEL_CALL_LIMITS, ...call.limits };
    const text =
      stop.after === 'connect'
        ? `sent nothing for ${(buffered ? limits.bufferedTimeoutMs : limits.connectTimeoutMs) / 1000} seconds`
        : `fell silent for ${limits.idleTimeoutMs / 1000} seconds in the middle of its answer`;
    return { kind: 'timeout', transient: false, text };
  }
  const failure = classifyFailure(error, wallMs(call));
  // A connection that breaks during the answer has cut the answer off.
  return answering && failure.transient ? { ...failure, kind: 'truncated' } : failure;
}

function wallMs(call: ModelCall): number {
  return call.now?.() ?? systemClock.now().getTime();
}
