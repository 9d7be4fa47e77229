/** What a search needs to know before it ranks: the stores that are there, how many chunks count, the query's words. */
import type { Executor } from '../../../kernel/db/database.ts';
import { isExpiredStore } from '../../store/expiry.ts';
import type { AttributeFilter } from './attribute-filter.ts';
import { filterCondition, StatementValues } from './filter-condition.ts';

/** Words of a query that count: the longest, which tend to be the rarest. */
const MAX_WORDS = 16;
const MAX_QUERY_CHARACTERS = 8000;
/** Where at most so many files pass a filter they are named one by one from here on. */
const MAX_NAMED_FILES = 200;

export interface SurveyedStore {
  readonly id: string;
  readonly model: string;
  /** It ends by itself, and its last use is more than a minute ago. */
  readonly is_idle: boolean;
  /** Chunks of the completed files that pass the filter. */
  readonly chunks: number;
  /** Chunks of all its completed files. */
  readonly total_chunks: number;
  /** Those files; null where they are too many to name, or where no filter was given. */
  readonly file_ids: readonly string[] | null;
}

export interface Survey {
  /** Without those that are deleted, unknown or the project's no longer. */
  readonly stores: readonly SurveyedStore[];
  /** The lexemes of each query, in the order of the queries. */
  readonly words: readonly (readonly string[])[];
}

export interface SurveyRequest {
  readonly projectId: string;
  readonly vectorStoreIds: readonly string[];
  readonly filter: AttributeFilter | null | undefined;
  /** Empty when words do not matter. */
  readonly queries: readonly string[];
}

interface SurveyRow {
  readonly stores: SurveyedStore[] | null;
  readonly words: string[][] | null;
}

export async function surveyStores(executor: Executor, request: SurveyRequest): Promise<Survey> {
  const values = new StatementValues();
  const project = `${values.add(request.projectId)}::text`;
  const stores = `${values.add(request.vectorStoreIds)}::text[]`;
  const queries = `${values.add(request.queries.map((query) => query.slice(0, MAX_QUERY_CHARACTERS)))}::text[]`;
  const { filter } = request;
  // Once for each file, in a query of its own: as part of each sum it would be reckoned again.
  const passes = filter == null ? 'true' : filterCondition(filter, 'f.attributes', values);
  const fileIds =
    filter == null
      ? 'null::text[]'
      : `case when count(*) filter (where passes) <= ${MAX_NAMED_FILES} then array_agg(file_id) filter (where passes) end`;
  const { rows } = await executor.query<SurveyRow>({
    ...(filter != null && { prepare: false as const }),
    text: `select
      (select json_agg(s) from (
        select s.id, s.embedding_model as model, coalesce(s.last_active_at, s.created_at) < now() - interval '1 minute'
            and s.expires_after_seconds is not null as is_idle, f.* from vector_stores s cross join lateral (
          select coalesce(sum(chunk_count) filter (where passes), 0) as chunks,
            coalesce(sum(chunk_count), 0) as total_chunks, ${fileIds} as file_ids
          from (select f.file_id, f.chunk_count, ${passes} as passes from vector_store_files f
            where f.project_id = ${project} and f.vector_store_id = s.id and f.status = 'completed' offset 0) f) f
        where s.project_id = ${project} and s.id = any(${stores}) and s.deleted_at is null
          and not ${isExpiredStore('s')} order by s.id) s) as stores,
      (select json_agg(array(
          select w.lexeme from unnest(to_tsvector('pg_catalog.english', fold_text(q.query))) w
          order by length(w.lexeme) desc, w.lexeme limit ${MAX_WORDS}) order by q.n)
        from unnest(${queries}) with ordinality q (query, n)) as words`,
    values: values.list,
  });
  return { stores: rows[0]?.stores ?? [], words: rows[0]?.words ?? [] };
}

/** Puts off their end. A store that somebody holds is left: the holder writes the time as well, or the next search does. */
export async function markStoresActive(executor: Executor, projectId: string, ids: readonly string[]): Promise<void> {
  await executor.query({
    text: `
      update vector_stores set last_active_at = now() where project_id = $1 and id in (
        select s.id from vector_stores s where s.project_id = $1 and s.id = any($2) and not ${isExpiredStore('s')}
        for no key update skip locked)`,
    values: [projectId, ids],
  });
}

/** Chunks in the index of vectors of that length, about; undefined where there is no such index. */
export async function countIndexedVectors(executor: Executor, dimensions: number): Promise<number | undefined> {
  const { rows } = await executor.query<{ rows: number }>({
    text: 'select reltuples::float8 as rows from pg_class where oid = to_regclass($1)',
    values: [`vector_store_chunks_hnsw_${dimensions}`],
  });
  return rows[0]?.rows;
}
