/**
 * The statement that ranks chunks for one query, by meaning and by words:
 *
 *   similarity  the cosine of query and chunk, 0 where it is negative
 *   relevance   the share of the query's words that the chunk holds, each weighted by its rarity among the chunks (BM25's
 *               idf) and by how often it stands in this one (0.61 for once, towards 1)
 *   score       (embeddingWeight · similarity + textWeight · relevance) / (embeddingWeight + textWeight)
 *
 * Both scales lie in 0..1, and so does the score. A query without words has the similarity as its score. Where there are
 * too many chunks to score each one (see `ScanMethod`), each half brings its best, and what either brought is scored
 * exactly on both scales.
 */
import type { Statement } from '../../../kernel/db/database.ts';
import { filterCondition, StatementValues } from './filter-condition.ts';
import { type FileChoice, poolSize, type RankRequest } from './rank-request.ts';

/** Chunks looked at for one word. A word in more chunks than these says little, and reading them all takes long. */
const MAX_POSTINGS = 1000;
/** The same where many of them may fall to a filter. */
const MAX_FILTERED_POSTINGS = 4000;
/** pgvector's limit. */
const MAX_EF_SEARCH = 1000;

/** Settings under which the index of vectors goes on until enough chunks count; for the transaction alone. */
export function indexSettings(depth: number): Statement {
  return {
    text: `select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true),
      set_config('enable_sort', 'off', true)`,
    values: [String(Math.min(MAX_EF_SEARCH, poolSize(depth)))],
  };
}

/** Rows are `RankedRow`s, best first; equals by store, file and position. */
export function rankStatement(request: RankRequest): Statement {
  const values = new StatementValues();
  const { vector, words } = request;
  const scope: Scope = {
    project: `${values.add(request.projectId)}::text`,
    stores: `${values.add(request.storeIds)}::text[]`,
    file: fileCondition(request.files, values),
    vector: vector === undefined ? undefined : `${values.add(`[${vector.join(',')}]`)}::halfvec`,
  };
  const parts = request.method === 'every' ? everyParts(request, scope, values) : poolParts(request, scope, values);
  const nearCount = request.method === 'index' && vector !== undefined ? '(select count(*) from near)' : 'null';
  const text = `with ${parts.join(',\n')}
    select vector_store_id, file_id, position, ${fusedScore(request, words, values)} as score, ${nearCount} as near
    from scored ${vector === undefined ? 'where relevance > 0' : ''}
    order by score desc, vector_store_id collate "C", file_id collate "C", position limit ${values.add(request.depth)}::int`;
  // A filter has its own text each time; what is left is few texts, which are worth preparing.
  return { text, values: values.list, ...(request.files.kind === 'filter' && { prepare: false as const }) };
}

/** Placeholders and names that most parts of the statement share. */
interface Scope {
  readonly project: string;
  readonly stores: string;
  /** Whether the row `f` of vector_store_files counts. */
  readonly file: string;
  readonly vector: string | undefined;
}

function fileCondition(files: FileChoice, values: StatementValues): string {
  switch (files.kind) {
    case 'all':
      return `f.status = 'completed'`;
    case 'ids':
      return `f.status = 'completed' and f.file_id = any(${values.add(files.fileIds)}::text[])`;
    case 'filter':
      return `f.status = 'completed' and ${filterCondition(files.filter, 'f.attributes', values)}`;
  }
}

const chunk = 'c.vector_store_id, c.file_id, c.position';

function filesPart({ project, stores, file }: Scope): string {
  return `files as materialized (select f.vector_store_id, f.file_id from vector_store_files f
    where f.project_id = ${project} and f.vector_store_id = any(${stores}) and ${file})`;
}

function chunksOfFiles({ project }: Scope): string {
  return `files f join vector_store_chunks c
    on c.project_id = ${project} and c.vector_store_id = f.vector_store_id and c.file_id = f.file_id`;
}

/** Vectors of another length, from a model that changed, resemble nothing. */
function similarityTo(vector: string | undefined): string {
  if (vector === undefined) return '0';
  return `case when vector_dims(c.embedding) = vector_dims(${vector}) then greatest(0, 1 - (c.embedding <=> ${vector})) else 0 end`;
}

/** `occurrences_1 …`: how often each word stands in the chunk; `lexemes` is out of its storage already. */
function occurrencesOf(words: readonly string[], values: StatementValues): string {
  return words
    .map((word, n) => `, ts_rank('{1,1,1,1}', c.lexemes, ${values.add(quote(word))}::tsquery) as occurrences_${n}`)
    .join('');
}

function rarityOf(found: string, chunkCount: string): string {
  return `ln(1 + (greatest(${chunkCount}, ${found}) - ${found} + 0.5) / (${found} + 0.5))`;
}

/** From the columns of `occurrencesOf` and the row `r`, which has each word's rarity. */
function relevanceOf(words: readonly string[]): string {
  if (words.length === 0) return '0';
  const weighted = words.map((_, n) => `rarity_${n} * occurrences_${n}`).join(' + ');
  return `(${weighted}) / (${words.map((_, n) => `rarity_${n}`).join(' + ')})`;
}

function everyParts(request: RankRequest, scope: Scope, values: StatementValues): string[] {
  const { words } = request;
  const lexemes = words.length === 0 ? '' : `, setweight(c.lexemes, 'D') as lexemes`;
  const parts = [
    filesPart(scope),
    // The inner query takes a chunk's words out of their storage once, not once for each word of the query.
    `held as materialized (
      select ${chunk}, c.similarity${occurrencesOf(words, values)} from (
        select ${chunk}, ${similarityTo(scope.vector)} as similarity${lexemes} from ${chunksOfFiles(scope)} offset 0) c)`,
  ];
  if (words.length === 0) return [...parts, 'scored as (select * from held)'];
  const count = `${values.add(request.chunkCount)}::float8`;
  const found = (n: number) => `(count(*) filter (where occurrences_${n} > 0))`;
  return [
    ...parts,
    `rarities as (select ${words.map((_, n) => `${rarityOf(found(n), count)} as rarity_${n}`).join(', ')} from held)`,
    `scored as (select ${chunk}, c.similarity, ${relevanceOf(words)} as relevance from held c cross join rarities r)`,
  ];
}

function poolParts(request: RankRequest, scope: Scope, values: StatementValues): string[] {
  const { words, vector } = request;
  const pool = `${values.add(poolSize(request.depth))}::int`;
  const halves = [...(vector === undefined ? [] : ['near']), ...(words.length === 0 ? [] : ['matching'])];
  const lexemes = words.length === 0 ? '' : `, setweight(c.lexemes, 'D') as lexemes`;
  return [
    ...(words.length === 0 ? [] : matchingParts(request, scope, pool, values)),
    ...(vector === undefined ? [] : nearParts(request, scope, vector.length, pool)),
    `pool as (
      select ${chunk}, c.similarity${occurrencesOf(words, values)} from (
        select ${chunk}, ${similarityTo(scope.vector)} as similarity${lexemes}
        from (${halves.map((half) => `select * from ${half}`).join(' union ')}) p
        join vector_store_chunks c on c.project_id = ${scope.project} and c.vector_store_id = p.vector_store_id
          and c.file_id = p.file_id and c.position = p.position offset 0) c)`,
    `scored as (select ${chunk}, c.similarity, ${relevanceOf(words)} as relevance
      from pool c ${words.length === 0 ? '' : 'cross join rarities r'})`,
  ];
}

/** Whether the file of chunk `c` counts: a lookup for each row, because a join would read the files of the whole store. */
function fileCounts({ project, file }: Scope): string {
  return `(select ${file} from vector_store_files f
    where f.project_id = ${project} and f.vector_store_id = c.vector_store_id and f.file_id = c.file_id)`;
}

function matchingParts(request: RankRequest, scope: Scope, pool: string, values: StatementValues): string[] {
  const { words, files, chunkCount, totalChunks } = request;
  // What a word's rarity is reckoned among is what its chunks are looked for in.
  const count = `${values.add(files.kind === 'filter' ? totalChunks : chunkCount)}::float8`;
  const queries = values.add([...words.map(quote), ...(words.length > 1 ? [words.map(quote).join(' & ')] : [])]);
  const found = (n: number) => `(count(*) filter (where n = ${n + 1}))`;
  const weights = words.map((_, n) => `when ${n + 1} then r.rarity_${n}`).join(' ');
  return [
    // The last term finds the chunks that hold every word, where each word alone is in too many to see them all. Marks
    // and words stand apart: joined into one query they made a word of every chunk take a second instead of a millisecond.
    `holdings as materialized (
      select t.n, ${chunk} from unnest(${queries}::text[]) with ordinality t (query, n) cross join lateral (
        select ${chunk} from vector_store_chunks c
        where c.project_id = ${scope.project} and c.vector_store_id = any(${scope.stores})
          and c.lexemes @@ ${values.add(marksOf(request))}::tsquery and c.lexemes @@ t.query::tsquery
        limit ${files.kind === 'filter' ? MAX_FILTERED_POSTINGS : MAX_POSTINGS}) c)`,
    `rarities as materialized (
      select ${words.map((_, n) => `${rarityOf(found(n), count)} as rarity_${n}`).join(', ')} from holdings)`,
    `matching as materialized (
      select ${chunk} from (
        select ${chunk}, sum(case c.n ${weights} else ${words.map((_, n) => `r.rarity_${n}`).join(' + ')} end) as weight
        from holdings c cross join rarities r group by ${chunk} order by weight desc, ${chunk}) c
      where ${fileCounts(scope)} limit ${pool})`,
  ];
}

/** A chunk's marks: of its file where few files count, else of its store. */
function marksOf({ files, storeIds }: RankRequest): string {
  const marks = files.kind === 'ids' ? files.fileIds.map((id) => `file:${id}`) : storeIds.map((id) => `store:${id}`);
  return marks.map(quote).join(' | ');
}

/** One lexeme as a tsquery. */
function quote(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

function nearParts({ method }: RankRequest, scope: Scope, length: number, pool: string): string[] {
  const { project, stores, vector } = scope;
  if (method === 'index') {
    // The expressions are the index's own, or the planner would not know it.
    return [
      `near as materialized (select ${chunk} from vector_store_chunks c
        where c.project_id = ${project} and c.vector_store_id = any(${stores})
          and vector_dims(c.embedding) = ${length} and ${fileCounts(scope)}
        order by c.embedding::halfvec(${length}) <=> ${vector}::halfvec(${length}) limit ${pool})`,
    ];
  }
  return [
    filesPart(scope),
    `near as materialized (select ${chunk} from ${chunksOfFiles(scope)}
      where vector_dims(c.embedding) = vector_dims(${vector}) order by c.embedding <=> ${vector} limit ${pool})`,
  ];
}

function fusedScore(request: RankRequest, words: readonly string[], values: StatementValues): string {
  if (words.length === 0) return 'similarity';
  const meaning = `${values.add(request.embeddingWeight)}::float8`;
  const text = `${values.add(request.textWeight)}::float8`;
  return `least(1, (${meaning} * similarity + ${text} * relevance) / (${meaning} + ${text}))`;
}
