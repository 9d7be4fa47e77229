import { type ModelInfo, priceUsage } from '../../models/index.ts';
import type { Model, RunnableModel } from './schema.ts';

/** The OpenAI dialect's shape. */
export function renderModel(model: ModelInfo): Model {
  return { id: model.id, object: 'model', created: model.created, owned_by: model.ownedBy };
}

export function renderRunnableModel(model: ModelInfo): RunnableModel {
  return {
    id: model.id,
    provider: model.provider,
    display_name: model.displayName,
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens ?? null,
    pricing: readPricing(model.id),
    runnable: true,
  };
}

/** Large enough for whole micro-dollars, and below the prompts that some providers charge a higher price for. */
const SAMPLE_TOKENS = 100_000;

function readPricing(modelId: string): RunnableModel['pricing'] {
  // A price for each request, which some models have, is no part of a token's.
  const request = priceUsage(modelId, { inputTokens: 0, outputTokens: 0 });
  const input = priceUsage(modelId, { inputTokens: SAMPLE_TOKENS, outputTokens: 0 });
  const cached = priceUsage(modelId, { inputTokens: SAMPLE_TOKENS, outputTokens: 0, cachedInputTokens: SAMPLE_TOKENS });
  const output = priceUsage(modelId, { inputTokens: 0, outputTokens: SAMPLE_TOKENS });
  if (request === null || input === null || cached === null || output === null) return null;
  const perMillion = (micros: number): number => (micros - request) / SAMPLE_TOKENS;
  return {
    input_per_million: perMillion(input),
    cached_input_per_million: perMillion(cached),
    output_per_million: perMillion(output),
  };
}
