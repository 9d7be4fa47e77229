/** Names that go with a text. */
import type { Static } from 'typebox';
import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const DEFAULT_LIMIT = 10;

export const SuggestionQuery = Type.Object({
  q: Type.String({ minLength: 1, maxLength: 200, description: 'Words, a name, or a URL.' }),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 50, default: DEFAULT_LIMIT, description: 'How many names at most.' }),
  ),
});

export const Suggestions = component(
  'Suggestions',
  Type.Object({
    query: Type.String({ description: 'As it was sent.' }),
    suggestions: Type.Array(Type.String(), {
      description: 'Names in ASCII, the likeliest first. GET /check tells which are free.',
    }),
  }),
);

export type Suggestions = Static<typeof Suggestions>;
