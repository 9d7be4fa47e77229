import { HttpReply } from '../../../kernel/http/operation.ts';
import { BASE_PATH, open } from '../../operation.ts';
import { DEFAULT_LIMIT, SuggestionQuery, Suggestions } from './schema.ts';
import { suggestNames } from './suggest-names.ts';

export function suggestionOperations() {
  return [
    open.read({
      id: 'suggestions.list',
      method: 'GET',
      path: `${BASE_PATH}/suggest`,
      posture: 'public',
      summary: 'Suggest names that go with a text',
      description: 'Names only, and the same ones for the same text. Nobody is asked whether they are free.',
      query: SuggestionQuery,
      reply: Suggestions,
      handler: async ({ query: { q, limit = DEFAULT_LIMIT } }) =>
        new HttpReply(200, { query: q, suggestions: suggestNames(q, limit) }, { 'cache-control': 'private, no-store' }),
    }),
  ];
}
