import { systemClock } from '../../../kernel/clock/clock.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import {
  type KnowledgeSearch,
  parseFilter,
  type RankingOptions,
  type SearchHit,
} from '../../knowledge/search/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { VectorStorePath, VectorStoreSearchIn, VectorStoreSearchOut } from './schema.ts';
import { readPageToken, writePageToken } from './search-page-token.ts';
import { touchVectorStore } from './store.ts';
import { getVisibleStore, requireUnexpired } from './store-visibility.ts';

const DEFAULT_RESULTS = 10;
/** Results that can be reached by paging. Each page ranks everything above it again. */
const MAX_DEPTH = 1_000;
/** How exact `last_active_at` is: a search within this time of the last writes nothing. */
const ACTIVITY_MS = 60_000;

export async function searchVectorStore(
  search: KnowledgeSearch,
  { db, caller, params, body, signal }: ProjectRead<{ params: VectorStorePath; body: VectorStoreSearchIn }>,
): Promise<VectorStoreSearchOut> {
  const store = await getVisibleStore(db, caller, params.vsId);
  requireUnexpired(store.is_expired);
  const queries = typeof body.query === 'string' ? [body.query] : body.query;
  const maxResults = body.max_num_results ?? DEFAULT_RESULTS;
  const filter = body.filters === undefined || body.filters === null ? null : parseFilter(body.filters, 'filters');
  const ranking = readRanking(body.ranking_options);
  const identity = [store.id, queries, filter, ranking];
  const offset = readPageToken(body.page, identity);
  const page = await search.search({
    projectId: caller.projectId,
    smithId: caller.kind === 'smith' ? caller.smithId : store.smith_id,
    keysOf: store.smith_id,
    vectorStoreIds: [store.id],
    queries,
    maxResults,
    offset,
    filter,
    ranking,
    signal,
  });
  await rememberSearch(db, caller, store.id);
  const reached = offset + page.hits.length;
  const hasMore = page.hasMore && reached < MAX_DEPTH;
  return {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: page.hits.map(renderHit),
    has_more: hasMore,
    next_page: hasMore ? writePageToken(reached, identity) : null,
  };
}

function readRanking(options: VectorStoreSearchIn['ranking_options']): RankingOptions {
  const { score_threshold, hybrid_search } = options ?? {};
  return {
    ...(score_threshold === undefined ? {} : { scoreThreshold: score_threshold }),
    ...(hybrid_search === undefined
      ? {}
      : { embeddingWeight: hybrid_search.embedding_weight, textWeight: hybrid_search.text_weight }),
  };
}

/** Throws `not_found` when the store was deleted while it was searched: what was found may be half of it. */
async function rememberSearch(db: TenantDb, caller: ProjectCaller, id: string): Promise<void> {
  const { last_active_at } = await getVisibleStore(db, caller, id);
  if (last_active_at !== null && systemClock.now().getTime() - last_active_at.getTime() < ACTIVITY_MS) return;
  await touchVectorStore(db, id);
}

function renderHit(hit: SearchHit): VectorStoreSearchOut['data'][number] {
  return {
    file_id: hit.fileId,
    filename: hit.filename,
    score: hit.score,
    attributes: hit.attributes,
    content: [{ type: 'text', text: hit.text }],
  };
}
