/**
 * A search: survey the stores, embed the queries with each store's model, rank, read what was found. Three statements for
 * one query in stores of one model.
 */
import type { Database, Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { FileAttributes } from '../../tables.ts';
import type { Embedders } from '../embed/index.ts';
import type { AttributeFilter } from './attribute-filter.ts';
import { chooseMethod, mayUseIndex } from './choose-method.ts';
import { indexSettings, rankStatement } from './rank-chunks.ts';
import { type FileChoice, poolSize, type RankedChunk, type RankedRow, type RankRequest } from './rank-request.ts';
import { readHits } from './read-hits.ts';
import { countIndexedVectors, markStoresActive, type SurveyedStore, surveyStores } from './survey-stores.ts';

export interface RankingOptions {
  /** 0..1; hits below it are left out. */
  readonly scoreThreshold?: number;
  /** Weights of meaning and of words, 0 or more and not both 0; only their ratio counts. */
  readonly embeddingWeight?: number;
  readonly textWeight?: number;
}

export interface SearchRequest {
  readonly projectId: string;
  /** All of these; a deleted one is left out. */
  readonly vectorStoreIds: readonly string[];
  /** A chunk's score is its best one among the queries. */
  readonly queries: readonly string[];
  /** 1..50 */
  readonly maxResults: number;
  readonly offset?: number;
  readonly filter?: AttributeFilter | null;
  readonly ranking?: RankingOptions;
  /** Whose usage it is. */
  readonly smithId?: string | null;
  /** The smith whose own model key goes first: that whose stores these are. */
  readonly keysOf?: string | null;
  readonly signal?: AbortSignal;
}

export interface SearchHit {
  readonly vectorStoreId: string;
  readonly fileId: string;
  readonly filename: string;
  readonly attributes: FileAttributes | null;
  readonly position: number;
  readonly text: string;
  /** 0..1, higher is better. */
  readonly score: number;
}

export interface SearchPage {
  readonly hits: readonly SearchHit[];
  readonly hasMore: boolean;
}

export interface KnowledgeSearch {
  /** Best first; equals by store, file and position. Throws `invalid_request`, and what `Embedders` throws. */
  search(request: SearchRequest): Promise<SearchPage>;
}

const MAX_RESULTS = 50;
/** Hits beyond these are never given, however often the next page is asked for. */
const MAX_DEPTH = 1000;
const MAX_QUERIES = 20;
/** Their ratio found the most on the set of test/knowledge/quality.soak.ts. */
const DEFAULT_EMBEDDING_WEIGHT = 0.6;
const DEFAULT_TEXT_WEIGHT = 0.4;

export function createKnowledgeSearch({ db, embedders }: { db: Database; embedders: Embedders }): KnowledgeSearch {
  return { search: (request) => search(db, embedders, request) };
}

async function search(db: Database, embedders: Embedders, request: SearchRequest): Promise<SearchPage> {
  const weights = readWeights(request.ranking);
  checkSizes(request);
  const offset = request.offset ?? 0;
  const end = Math.min(offset + request.maxResults, MAX_DEPTH);
  if (offset >= end) return { hits: [], hasMore: false };

  const { projectId, vectorStoreIds, filter, queries } = request;
  const survey = await surveyStores(db, {
    projectId,
    vectorStoreIds,
    filter,
    queries: weights.textWeight > 0 ? queries : [],
  });
  const idle = survey.stores.filter((store) => store.is_idle).map(({ id }) => id);
  if (idle.length > 0) await markStoresActive(db, projectId, idle);
  const best = new BestChunks();
  const groups = Map.groupBy(
    survey.stores.filter((store) => store.chunks > 0),
    (store) => store.model,
  );
  for (const [model, stores] of groups) {
    const vectors = weights.embeddingWeight > 0 ? await embedQueries(embedders, model, request) : [];
    request.signal?.throwIfAborted();
    const shared = { projectId, ...describeStores(stores, filter), ...weights, depth: end + 1 };
    const asked = queries
      .map((_, index) => ({ vector: vectors[index], words: survey.words[index] ?? [] }))
      .filter(({ vector, words }) => vector !== undefined || words.length > 0);
    best.add(await rankAll(db, shared, asked));
  }
  const ranked = best.above(request.ranking?.scoreThreshold ?? 0);
  const page = ranked.slice(offset, end);
  const rows = await readHits(db, projectId, page);
  const scores = new Map(page.map((chunk) => [keyOf(chunk), chunk.score]));
  return {
    hits: rows.map((row) => ({
      vectorStoreId: row.vector_store_id,
      fileId: row.file_id,
      filename: row.filename,
      attributes: row.attributes,
      position: row.position,
      text: row.text,
      score: scores.get(keyOf(row)) ?? 0,
    })),
    hasMore: ranked.length > end && end < MAX_DEPTH,
  };
}

function readWeights(ranking: RankingOptions = {}): { embeddingWeight: number; textWeight: number } {
  const { embeddingWeight = DEFAULT_EMBEDDING_WEIGHT, textWeight = DEFAULT_TEXT_WEIGHT } = ranking;
  if (!(embeddingWeight >= 0 && textWeight >= 0 && embeddingWeight + textWeight > 0)) {
    throw new ApiError('invalid_request', {
      param: 'ranking_options.hybrid_search',
      message: 'The weights of a hybrid search are 0 or more, and at least one of them is more than 0.',
    });
  }
  // Of their sum, so that no weight is too large to reckon with.
  const largest = Math.max(embeddingWeight, textWeight);
  const [meaning, text] = [embeddingWeight / largest, textWeight / largest];
  return { embeddingWeight: meaning / (meaning + text), textWeight: text / (meaning + text) };
}

function checkSizes({ maxResults, offset = 0, queries }: SearchRequest): void {
  if (!Number.isInteger(maxResults) || maxResults < 1 || maxResults > MAX_RESULTS) {
    const message = `Ask for 1 to ${MAX_RESULTS} results at a time.`;
    throw new ApiError('invalid_request', { param: 'max_num_results', message });
  }
  if (!Number.isInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`);
  if (queries.length < 1 || queries.length > MAX_QUERIES) {
    const message = `A search takes 1 to ${MAX_QUERIES} queries.`;
    throw new ApiError('invalid_request', { param: 'query', message });
  }
}

async function embedQueries(
  embedders: Embedders,
  model: string,
  { projectId, smithId, keysOf = null, queries, signal }: SearchRequest,
): Promise<readonly Float32Array[]> {
  const embedder = await embedders.open(projectId, model, { smithId, keysOf });
  const { vectors } = await embedder.embed(queries, signal === undefined ? {} : { signal });
  return vectors;
}

type StoresToRank = Pick<RankRequest, 'storeIds' | 'files' | 'chunkCount' | 'totalChunks'>;

function describeStores(stores: readonly SurveyedStore[], filter: AttributeFilter | null | undefined): StoresToRank {
  const chunkCount = stores.reduce((sum, store) => sum + store.chunks, 0);
  const totalChunks = stores.reduce((sum, store) => sum + store.total_chunks, 0);
  return { storeIds: stores.map(({ id }) => id), files: chooseFiles(stores, filter), chunkCount, totalChunks };
}

function chooseFiles(stores: readonly SurveyedStore[], filter: AttributeFilter | null | undefined): FileChoice {
  if (filter == null) return { kind: 'all' };
  const named = stores.flatMap(({ file_ids }) => file_ids ?? []);
  const all = stores.every(({ file_ids }) => file_ids !== null);
  // A file may pass in one store and not in another: its name alone does not tell.
  return all && stores.length === 1 ? { kind: 'ids', fileIds: named } : { kind: 'filter', filter };
}

type Shared = StoresToRank & Pick<RankRequest, 'projectId' | 'embeddingWeight' | 'textWeight' | 'depth'>;
type Asked = Pick<RankRequest, 'vector' | 'words'>;

async function rankAll(db: Database, shared: Shared, asked: readonly Asked[]): Promise<RankedChunk[]> {
  const dimensions = asked[0]?.vector?.length;
  const indexed =
    dimensions !== undefined && mayUseIndex(shared.chunkCount, dimensions)
      ? await countIndexedVectors(db, dimensions)
      : undefined;
  const method = chooseMethod(shared.chunkCount, indexed, shared.depth);
  const requests = asked.map((each): RankRequest => ({ ...shared, ...each, method }));
  if (requests.length === 0) return [];
  const rankings = await rankTogether(db, requests);
  // Where the index gave up before it found enough that counts, only comparing tells what is nearest.
  const enough = Math.min(poolSize(shared.depth), shared.chunkCount);
  const short = requests.filter((_, index) => method === 'index' && (rankings[index]?.[0]?.near ?? 0) < enough);
  if (short.length > 0)
    rankings.push(
      ...(await rankTogether(
        db,
        short.map((each) => ({ ...each, method: 'compare' })),
      )),
    );
  return rankings.flat();
}

/** On one connection, without waiting for one answer before the next question. */
async function rankTogether(db: Database, requests: readonly RankRequest[]): Promise<RankedRow[][]> {
  const [first] = requests;
  if (first === undefined) return [];
  if (first.method !== 'index' && requests.length === 1) return [await rank(db, first)];
  return db.transaction(async (tx) => {
    const settings = first.method === 'index' ? tx.query(indexSettings(first.depth)) : undefined;
    const [rankings] = await Promise.all([Promise.all(requests.map((each) => rank(tx, each))), settings]);
    return rankings;
  });
}

async function rank(executor: Executor, request: RankRequest): Promise<RankedRow[]> {
  const { rows } = await executor.query<RankedRow>(rankStatement(request));
  return rows;
}

/** Chunks that several queries and models ranked: each once, with its best score. */
class BestChunks {
  readonly #chunks = new Map<string, RankedChunk>();

  add(ranked: readonly RankedChunk[]): void {
    for (const chunk of ranked) {
      const key = keyOf(chunk);
      const known = this.#chunks.get(key);
      if (known === undefined || known.score < chunk.score) this.#chunks.set(key, chunk);
    }
  }

  above(threshold: number): RankedChunk[] {
    return [...this.#chunks.values()].filter(({ score }) => score >= threshold).sort(compareChunks);
  }
}

function keyOf({ vector_store_id, file_id, position }: Omit<RankedChunk, 'score'>): string {
  return `${vector_store_id}/${file_id}/${position}`;
}

function compareChunks(a: RankedChunk, b: RankedChunk): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.vector_store_id !== b.vector_store_id) return a.vector_store_id < b.vector_store_id ? -1 : 1;
  if (a.file_id !== b.file_id) return a.file_id < b.file_id ? -1 : 1;
  return a.position - b.position;
}
