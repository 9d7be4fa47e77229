import type { Clock } from '../../../kernel/clock/clock.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { BASE_PATH, open } from '../../operation.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import { DEFAULT_LIMIT, SuggestionQuery, Suggestions } from './schema.ts';
import { suggestNames } from './suggest-names.ts';

interface SuggestionDependencies {
  readonly prices: Pick<PriceBook, 'list' | 'isReserved'>;
  readonly clock: Clock;
}

export function suggestionOperations({ clock, prices }: SuggestionDependencies) {
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
      handler: async ({ query: { q, limit = DEFAULT_LIMIT } }) => {
        const tlds = prices.list(clock.now()).map(({ tld }) => tld);
        const suggestions = suggestNames(q, limit, tlds).filter((name) => !prices.isReserved(name));
        return new HttpReply(200, { query: q, suggestions }, { 'cache-control': 'private, no-store' });
      },
    }),
  ];
}
