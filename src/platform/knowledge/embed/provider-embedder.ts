/** Embedding models of the providers: many texts in as many requests as the provider wants them. */
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { ApiError, DO_NOT_RETRY } from '../../../kernel/http/errors.ts';
import { callEmbeddingModel, estimateTokens, ModelCallError, type ModelCallLimits } from '../../models/index.ts';
import type { Embedder, EmbedOptions, EmbedResult } from './embedder.ts';
import { toUnitVector } from './unit-vector.ts';

/** Vectors come as JSON: so many of 3072 numbers are 17 MB, which must fit in memory several times. */
const MAX_CALL_TEXTS = 256;
/** OpenAI takes 300,000 tokens a request, and no token is less than a byte. */
const MAX_CALL_BYTES = 300_000;
const PARALLEL_CALLS = 3;

interface Batch {
  readonly start: number;
  readonly texts: readonly string[];
}

/** `id` is `provider/model` in full. */
export function createProviderEmbedder(
  id: string,
  model: EmbeddingModelV4,
  limits: Partial<ModelCallLimits> | undefined,
): Embedder {
  return {
    model: id,
    async embed(texts, options = {}) {
      try {
        return await embedInBatches(id, model, limits, texts, options);
      } catch (error) {
        throw error instanceof ModelCallError ? toRefusal(id, error, options.dimensions) : error;
      }
    },
  };
}

async function embedInBatches(
  id: string,
  model: EmbeddingModelV4,
  limits: Partial<ModelCallLimits> | undefined,
  texts: readonly string[],
  { signal, dimensions, onTokens }: EmbedOptions,
): Promise<EmbedResult> {
  const batches = cutBatches(texts, (await model.maxEmbeddingsPerCall) ?? MAX_CALL_TEXTS);
  const vectors: Float32Array[] = new Array(texts.length);
  const failed = new AbortController();
  const signals = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  let tokens = 0;
  let next = 0;
  const work = async () => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const result = await callEmbeddingModel({ model, values: batch.texts, dimensions, signal: signals, limits });
      const used = result.tokens ?? batch.texts.reduce((sum, text) => sum + estimateTokens(text), 0);
      tokens += used;
      onTokens?.(used);
      checkDimensions(
        id,
        result.embeddings[0]?.length,
        dimensions ?? vectors.find((each) => each !== undefined)?.length,
        dimensions,
      );
      for (const [index, embedding] of result.embeddings.entries())
        vectors[batch.start + index] = toUnitVector(embedding);
    }
  };
  const workers = (await model.supportsParallelCalls) ? PARALLEL_CALLS : 1;
  try {
    await Promise.all(Array.from({ length: Math.min(workers, batches.length) }, work));
  } catch (error) {
    // The requests still under way are of no use.
    failed.abort(error);
    throw error;
  }
  return { vectors, tokens };
}

function cutBatches(texts: readonly string[], maxTexts: number): Batch[] {
  const most = Math.max(1, Math.min(maxTexts, MAX_CALL_TEXTS));
  const batches: Batch[] = [];
  let start = 0;
  let bytes = 0;
  for (const [index, text] of texts.entries()) {
    const size = Buffer.byteLength(text);
    if (index > start && (index - start >= most || bytes + size > MAX_CALL_BYTES)) {
      batches.push({ start, texts: texts.slice(start, index) });
      start = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < texts.length) batches.push({ start, texts: texts.slice(start) });
  return batches;
}

function checkDimensions(
  id: string,
  length: number | undefined,
  expected: number | undefined,
  asked: number | undefined,
): void {
  if (length === expected || expected === undefined) return;
  if (asked === undefined) {
    throw new ApiError('embedding_unavailable', {
      message: `${id} answered with vectors of different lengths. Check the model, then retry.`,
    });
  }
  throw new ApiError('invalid_request', {
    message: `${id} answered with ${length} dimensions where ${asked} were asked for: it does not let them be chosen. Leave \`dimensions\` out.`,
    param: 'dimensions',
  });
}

/** How a provider, or its package before it is asked, says that the length cannot be chosen so. */
const WRONG_DIMENSIONS = /dimension|provider options/i;

function toRefusal(id: string, error: ModelCallError, dimensions: number | undefined): ApiError {
  const { kind, status = 0, retryAfterSeconds, message } = error;
  if (kind === 'context_length') {
    return new ApiError('invalid_input', {
      message: `A text is longer than ${id} takes. Split it, or use a model that takes longer ones.`,
      param: 'input',
      cause: error,
    });
  }
  if (dimensions !== undefined && kind === 'upstream' && status < 500 && WRONG_DIMENSIONS.test(message)) {
    return new ApiError('invalid_request', {
      message: `${id} does not make vectors of ${dimensions} dimensions. Choose a length that it offers, or leave \`dimensions\` out.`,
      param: 'dimensions',
      cause: error,
    });
  }
  // To repeat it is in vain where the request or the key is at fault.
  const final =
    kind === 'authentication' || kind === 'refused' || (status >= 400 && status < 500 && kind !== 'rate_limited');
  return new ApiError('embedding_unavailable', {
    message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterSeconds) }),
    ...(final ? { headers: DO_NOT_RETRY } : {}),
    cause: error,
  });
}
