import type { Static } from 'typebox';
import { component, failsWith, missingFailsWith, nullable, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { BUILTIN_EMBED_MODEL } from '../../knowledge/embed/index.ts';
import { MAX_INPUT_CHARACTERS, MAX_INPUT_TOKENS, MAX_INPUTS, MAX_TOTAL_CHARACTERS } from './read-inputs.ts';

const INVALID = failsWith('invalid_input');
const MAX_DIMENSIONS = 16_384;
const MAX_MODEL_CHARACTERS = 256;

/** Alternatives as lists of types, because a violation of one is answered with the code and the place. */
const input = Type.Unsafe<unknown>({
  type: ['string', 'array'],
  items: { type: ['string', 'integer', 'array'], items: { type: 'integer', ...INVALID }, ...INVALID },
  description:
    `A text, up to ${MAX_INPUTS} texts, the tokens of a text, or a list of such. Tokens are those of cl100k_base, the ` +
    `encoding of OpenAI’s embedding models. A text has up to ${MAX_INPUT_CHARACTERS} characters or ${MAX_INPUT_TOKENS} ` +
    `tokens and is not empty; all together have up to ${MAX_TOTAL_CHARACTERS} characters. The model may take less.`,
  ...INVALID,
  ...missingFailsWith('invalid_input'),
});

export const EmbeddingIn = component(
  'EmbeddingIn',
  Type.Object({
    input,
    model: Type.Optional(
      nullable(Type.String({ maxLength: MAX_MODEL_CHARACTERS }), {
        description: `\`provider/model\`, or the bare name of a model of OpenAI’s. ${BUILTIN_EMBED_MODEL} when absent.`,
      }),
    ),
    dimensions: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: MAX_DIMENSIONS }), {
        description: 'Length of the vectors, for models that let it be chosen.',
      }),
    ),
    encoding_format: Type.Optional(
      nullable(oneOf(['float', 'base64']), {
        description: '`base64`: the vector’s 32-bit floats, little-endian. `float` when absent.',
      }),
    ),
    user: Type.Optional(nullable(Type.String({ maxLength: 512 }), { description: 'Taken and not used.' })),
  }),
);

const Embedding = component(
  'Embedding',
  Type.Object({
    object: Type.Literal('embedding'),
    index: Type.Integer(),
    embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
  }),
);

export const EmbeddingList = component(
  'EmbeddingList',
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(Embedding),
    model: Type.String({ description: '`provider/model` in full.' }),
    usage: component('EmbeddingUsage', Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() })),
  }),
);

export type EmbeddingIn = Static<typeof EmbeddingIn>;
export type EmbeddingList = Static<typeof EmbeddingList>;
