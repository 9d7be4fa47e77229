/**
 * A vector store of many chunks, written by SQL. Vectors lie in clusters, because between vectors of no order all
 * distances are alike and the nearest mean nothing; words come as often as in a text without its stop words (Zipf's law).
 */
import type { BenchDatabase } from '../database.ts';
import { createRandom } from '../random.ts';

const SEARCH_DIMENSIONS = 512;
export const SEARCH_MODEL = 'bench/vectors';
const TOPICS = 500;
const NOISES = 2000;
/** Two noises are added to a topic: two chunks of one topic have a cosine of about 0.5. */
const NOISE_SIZE = 0.7;
const CHUNKS_PER_FILE = 50;
const WORDS_PER_CHUNK = 60;
const VOCABULARY = 30_000;
/** Flattens the head of the law, where the stop words would stand. */
const ZIPF_OFFSET = 20;
const ROWS_PER_STATEMENT = 5000;

export interface SearchQuery {
  readonly vector: Float32Array;
  readonly text: string;
}

export interface SearchStore {
  readonly projectId: string;
  readonly storeId: string;
  readonly chunks: number;
  /** A query that nobody asked before: its vector, and four words of its language. */
  makeQuery(): SearchQuery;
}

/** One file of a hundred has the attribute `group` 7, each second one the attribute `half` 1. */
export async function seedSearchStore(
  database: BenchDatabase,
  projectId: string,
  chunks: number,
): Promise<SearchStore> {
  const { client } = database;
  const random = createRandom(2026);
  const topics = Array.from({ length: TOPICS }, () => makeVector(random, 1));
  const noises = Array.from({ length: NOISES }, () => makeVector(random, NOISE_SIZE));
  const store = { projectId, storeId: 'vs_bench' };
  await client.query(`create temp table topics (id int primary key, v halfvec);
    create temp table noises (id int primary key, v halfvec)`);
  for (const [table, vectors] of [['topics', topics] as const, ['noises', noises] as const]) {
    const texts = vectors.map((vector) => `[${[...vector].map((each) => each.toFixed(4)).join(',')}]`);
    await client.query(
      `insert into ${table} select n - 1, v::halfvec from unnest($1::text[]) with ordinality as t (v, n)`,
      [texts],
    );
  }
  await seedFiles(database, store, chunks / CHUNKS_PER_FILE);
  const pickWord = createWordPicker(random);
  for (let first = 0; first < chunks; first += ROWS_PER_STATEMENT) {
    const rows = Array.from({ length: Math.min(ROWS_PER_STATEMENT, chunks - first) }, (_, row) => first + row);
    const pick = (count: number) => rows.map(() => Math.floor(random() * count));
    const texts = rows.map(() => Array.from({ length: WORDS_PER_CHUNK }, pickWord).join(' '));
    await client.query(INSERT_CHUNKS, [
      store.projectId,
      store.storeId,
      rows,
      texts,
      pick(TOPICS),
      pick(NOISES),
      pick(NOISES),
    ]);
  }
  return {
    ...store,
    chunks,
    makeQuery() {
      const topic = topics[Math.floor(random() * TOPICS)] ?? new Float32Array();
      const noise = makeVector(random, NOISE_SIZE * Math.SQRT2);
      const vector = topic.map((component, index) => component + (noise[index] ?? 0));
      return { vector, text: Array.from({ length: 4 }, pickWord).join(' ') };
    },
  };
}

const INSERT_CHUNKS = `
  insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
  select $1, $2, 'file_' || (c.n / ${CHUNKS_PER_FILE}), c.n % ${CHUNKS_PER_FILE}, c.text, ${WORDS_PER_CHUNK}, t.v + a.v + b.v
  from unnest($3::int[], $4::text[], $5::int[], $6::int[], $7::int[]) as c (n, text, topic, a, b)
  join topics t on t.id = c.topic join noises a on a.id = c.a join noises b on b.id = c.b`;

async function seedFiles(
  { client }: BenchDatabase,
  { projectId, storeId }: Pick<SearchStore, 'projectId' | 'storeId'>,
  files: number,
): Promise<void> {
  await client.query(
    `insert into vector_stores (project_id, id, embedding_model, chunk_tokens, overlap_tokens) values ($1, $2, $3, 800, 400)`,
    [projectId, storeId, SEARCH_MODEL],
  );
  await client.query(
    `insert into files (project_id, id, filename, media_type, purpose, bytes, sha256)
     select $1, 'file_' || n, n || '.txt', 'text/plain', 'assistants', 0, '' from generate_series(0, $2::int - 1) n`,
    [projectId, files],
  );
  await client.query(
    `insert into vector_store_files
       (project_id, vector_store_id, file_id, status, attributes, chunk_tokens, overlap_tokens, chunk_count)
     select $1, $2, 'file_' || n, 'completed', jsonb_build_object('group', n % 100, 'half', n % 2), 800, 400, ${CHUNKS_PER_FILE}
     from generate_series(0, $3::int - 1) n`,
    [projectId, storeId, files],
  );
}

/** Runs `load` without the indexes that searches use, and builds them then: a fifth of the time. Returns the seconds. */
export async function buildIndexesAfter({ client }: BenchDatabase, load: () => Promise<void>): Promise<number> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = 'vector_store_chunks' and indexname = any($1)`,
    [[`vector_store_chunks_hnsw_${SEARCH_DIMENSIONS}`, 'vector_store_chunks_lexemes']],
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  await load();
  const startMs = performance.now();
  await client.query(`set maintenance_work_mem to '1GB'`);
  for (const { definition } of indexes) await client.query(definition);
  const seconds = (performance.now() - startMs) / 1000;
  for (const table of ['vector_store_chunks', 'vector_store_files']) await client.query(`vacuum analyze ${table}`);
  return seconds;
}

/** Components of a normal distribution with that deviation. */
function makeVector(random: () => number, deviation: number): Float32Array {
  return Float32Array.from(
    { length: SEARCH_DIMENSIONS },
    () => deviation * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  );
}

function createWordPicker(random: () => number): () => string {
  const cumulated = new Float64Array(VOCABULARY);
  let sum = 0;
  for (let rank = 0; rank < VOCABULARY; rank += 1) {
    sum += 1 / (rank + ZIPF_OFFSET);
    cumulated[rank] = sum;
  }
  return () => {
    const target = random() * sum;
    let [low, high] = [0, VOCABULARY - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulated[middle] ?? 0) < target) low = middle + 1;
      else high = middle;
    }
    return `w${low.toString(36)}q`;
  };
}
