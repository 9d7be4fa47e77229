import type { ModelInfo } from '../../models/index.ts';
import { priceModel } from './model-pricing.ts';
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
    pricing: priceModel(model.id),
    runnable: true,
  };
}
