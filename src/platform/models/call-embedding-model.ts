import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider';
import { systemClock } from '../../kernel/clock/clock.ts';
import { setTimer } from '../../kernel/clock/timers.ts';
import { DEFAULT_MODEL_CALL_LIMITS, type ModelCallLimits } from './call-model.ts';
import { classifyFailure, type Failure, makeModelCallError } from './model-call-error.ts';
import { nameModel } from './model-identity.ts';
import { pause, planRetry } from './retry-plan.ts';

export interface EmbeddingCall {
  readonly model: EmbeddingModelV4;
  /** No more than the model's `maxEmbeddingsPerCall`. */
  readonly values: readonly string[];
  readonly dimensions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `connectTimeoutMs` holds for the whole answer: an embedding comes in one piece. */
  readonly limits?: Partial<ModelCallLimits> | undefined;
  /** Rejects when the signal is aborted. Replaced in tests. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
}

export interface EmbeddingCallResult {
  /** One a value, in order, all of one length, finite and not zero; not of unit length. */
  readonly embeddings: readonly (readonly number[])[];
  /** As the provider counts; undefined where it does not. */
  readonly tokens: number | undefined;
}

/**
 * Makes one request, again where that may help (408, 409, 425, 429, 5xx, the network), with the pauses that the provider
 * asks for. Throws `ModelCallError`, or the signal's reason as soon as it is aborted.
 */
export async function callEmbeddingModel(call: EmbeddingCall): Promise<EmbeddingCallResult> {
  const limits: ModelCallLimits = { ...DEFAULT_MODEL_CALL_LIMITS, ...call.limits };
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptCall(call, limits.connectTimeoutMs);
    if ('embeddings' in outcome) return outcome;
    const delayMs = planRetry(outcome, attempt, limits, Math.random);
    if (delayMs === undefined) throw makeModelCallError(call.model, outcome, attempt);
    await (call.sleep ?? pause)(delayMs, call.signal);
  }
}

async function attemptCall(call: EmbeddingCall, timeoutMs: number): Promise<EmbeddingCallResult | Failure> {
  const { model, values, dimensions, signal } = call;
  signal?.throwIfAborted();
  const request = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    stopped.reject(reason);
    request.abort(reason);
  };
  const onAbort = () => stop(signal?.reason);
  const timer = setTimer(() => stop(TIMED_OUT), timeoutMs, { keepsProcess: true });
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const options = { values: [...values], abortSignal: request.signal, ...chooseDimensions(model, dimensions) };
    // A package that does not heed its signal must not keep the caller waiting.
    const result = await Promise.race([model.doEmbed(options), stopped.promise]);
    return checkResult(result.embeddings, result.usage?.tokens, values.length);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error === TIMED_OUT) {
      return { kind: 'timeout', transient: false, text: `sent nothing for ${timeoutMs / 1000} seconds` };
    }
    return classifyFailure(error, systemClock.now().getTime());
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

const TIMED_OUT = new Error('The model took too long.');

/** Amazon's models take their dimensions as options of their own, each family under another name. */
function chooseDimensions(
  model: EmbeddingModelV4,
  dimensions: number | undefined,
): Pick<EmbeddingModelV4CallOptions, 'dimensions' | 'providerOptions'> {
  if (dimensions === undefined) return {};
  const name = nameModel(model);
  if (!name.startsWith('bedrock/')) return { dimensions };
  const option = /amazon\.nova-/.test(name)
    ? 'embeddingDimension'
    : /cohere\.embed-/.test(name)
      ? 'outputDimension'
      : 'dimensions';
  return { providerOptions: { bedrock: { [option]: dimensions } } };
}

function checkResult(
  embeddings: readonly (readonly number[])[],
  tokens: number | undefined,
  count: number,
): EmbeddingCallResult | Failure {
  const length = embeddings[0]?.length ?? 0;
  if (embeddings.length !== count) return garbage(`${embeddings.length} vectors came for ${count} texts`);
  if (length === 0) return garbage('the vectors are empty');
  for (const embedding of embeddings) {
    if (embedding.length !== length) return garbage('the vectors differ in length');
    if (!embedding.every(Number.isFinite)) return garbage('a vector holds what is no number');
    if (!embedding.some((each) => each !== 0)) return garbage('a vector is all zeros');
  }
  return { embeddings, tokens: tokens !== undefined && Number.isFinite(tokens) ? tokens : undefined };
}

function garbage(text: string): Failure {
  return { kind: 'invalid_response', transient: false, text, cause: { message: text } };
}
