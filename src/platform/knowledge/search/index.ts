/** Hybrid search over the chunks of vector stores: by meaning and by words, with filters on the files' attributes. */
export type { AttributeFilter } from './attribute-filter.ts';
export { parseFilter } from './attribute-filter.ts';
export {
  createKnowledgeSearch,
  type KnowledgeSearch,
  type RankingOptions,
  type SearchHit,
  type SearchRequest,
} from './knowledge-search.ts';
