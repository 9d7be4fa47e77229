/** Models that a caller can run: the built-in one, and those of every provider that there is a key for. */
import type { Static } from 'typebox';
import { component, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const price = Type.Number({ description: 'US dollars for a million tokens.' });

const ModelPricing = component(
  'ModelPricing',
  Type.Object({ input_per_million: price, cached_input_per_million: price, output_per_million: price }),
);

/** The native shape, for whoever configures agents. */
export const RunnableModel = component(
  'RunnableModel',
  Type.Object({
    id: Type.String({ description: '`provider/model`: what an agent’s or a smith’s `model` takes.' }),
    provider: Type.String(),
    display_name: Type.String(),
    context_window: Type.Integer({ description: 'Tokens of prompt and answer together.' }),
    max_output_tokens: nullable(Type.Integer()),
    pricing: nullable(ModelPricing, { description: 'List prices of the day; null where none is known.' }),
    runnable: Type.Literal(true),
  }),
);

/** A fixed-size list: bare `{data}`. */
export const RunnableModelList = component('RunnableModelList', Type.Object({ data: Type.Array(RunnableModel) }));

/** The OpenAI dialect's shape. */
export const Model = component(
  'Model',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    owned_by: Type.String(),
  }),
);

export const ModelList = component('ModelList', Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) }));

export const ModelPath = Type.Object({ model: Type.String() });

export type RunnableModel = Static<typeof RunnableModel>;
export type RunnableModelList = Static<typeof RunnableModelList>;
export type Model = Static<typeof Model>;
export type ModelList = Static<typeof ModelList>;
export type ModelPath = Static<typeof ModelPath>;
