/** Searches in a store of 100,000 chunks: how many a second, how soon, and how much of what an exact search finds. */
import Type from 'typebox';
import { Parse } from 'typebox/value';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import {
  type AttributeFilter,
  createKnowledgeSearch,
  type RankingOptions,
} from '../../src/platform/knowledge/search/index.ts';
import type { BenchDatabase } from '../database.ts';
import type { Findings } from '../figure.ts';
import { type Summary, summarize } from '../statistics.ts';
import type { BenchContext } from './bench-context.ts';
import { buildIndexesAfter, SEARCH_MODEL, type SearchQuery, type SearchStore, seedSearchStore } from './seed-search.ts';

const DEPTH = 10;
const CONNECTIONS = 10;
const meaning: RankingOptions = { embeddingWeight: 1, textWeight: 0 };
const onePercent: AttributeFilter = { type: 'eq', key: 'group', value: 7 };
const half: AttributeFilter = { type: 'eq', key: 'half', value: 1 };

export async function measureSearch({ server, database, quick, say }: BenchContext): Promise<Findings> {
  if (database === undefined) {
    const remark = 'Search: the chunks are written by SQL, so it needs --store postgres.';
    return { figures: [], remarks: [remark], details: {} };
  }
  const chunks = quick ? 10_000 : 100_000;
  say(`search: writing ${chunks} chunks, then their indexes`);
  const key = server.credentials.organization_key;
  const created = await server.call(key, 'POST', '/v1/organization/projects', { name: 'Search' });
  const { id: projectId } = Parse(Type.Object({ id: Type.String() }), created);
  let store: SearchStore | undefined;
  const indexSeconds = await buildIndexesAfter(database, async () => {
    store = await seedSearchStore(database, projectId, chunks);
  });
  if (store === undefined) throw new Error('no store was written');
  const db = await connectServer({ url: database.url, poolSize: CONNECTIONS });
  try {
    return await measureStore(store, database, openSearcher(db, store), indexSeconds, { quick, say });
  } finally {
    await db.close();
  }
}

/** Searches the store for a query; returns the chunks found, by file and position. */
type Search = (query: SearchQuery, ranking: RankingOptions, filter?: AttributeFilter) => Promise<string[]>;

/** A model would take its own time: here each query brings its vector along. */
function openSearcher(db: Database, { projectId, storeId }: SearchStore): Search {
  const vectors = new Map<string, Float32Array>();
  const embed = (texts: readonly string[]) =>
    Promise.resolve({ vectors: texts.map((text) => vectors.get(text) ?? new Float32Array()), tokens: 0 });
  const search = createKnowledgeSearch({
    db,
    embedders: { open: () => Promise.resolve({ model: SEARCH_MODEL, embed }) },
  });
  return async ({ text, vector }, ranking, filter) => {
    vectors.set(text, vector);
    const vectorStoreIds = [storeId];
    const request = { projectId, vectorStoreIds, queries: [text], maxResults: DEPTH, ranking, filter: filter ?? null };
    const { hits } = await search.search(request);
    return hits.map((hit) => `${hit.fileId} ${hit.position}`);
  };
}

async function measureStore(
  store: SearchStore,
  database: BenchDatabase,
  search: Search,
  indexSeconds: number,
  { quick, say }: Pick<BenchContext, 'quick' | 'say'>,
): Promise<Findings> {
  const count = quick ? 10 : 200;
  const queries = Array.from({ length: count }, () => store.makeQuery());
  for (const query of queries.slice(0, 10)) await search(query, {}, onePercent);

  say('search: alone, with and without a filter');
  const alone = {
    filtered: await timeEach(queries, (query) => search(query, {}, onePercent)),
    filtered_meaning: await timeEach(queries, (query) => search(query, meaning, onePercent)),
    meaning: await timeEach(queries, (query) => search(query, meaning)),
    hybrid: await timeEach(queries, (query) => search(query, {})),
  };
  say('search: by many at once');
  const seconds = quick ? 1 : 5;
  const rates: Record<string, number> = {};
  for (const clients of [1, 4, 16]) {
    rates[`meaning_${clients}`] = await countPerSecond(clients, seconds, queries, (query) => search(query, meaning));
    rates[`filtered_${clients}`] = await countPerSecond(clients, seconds, queries, (query) =>
      search(query, {}, onePercent),
    );
  }
  say('search: against an exact search');
  const judged = queries.slice(0, quick ? 5 : 50);
  const recall = await measureRecall(database, store, judged, (query) => search(query, meaning));
  const halfRecall = await measureRecall(database, store, judged, (query) => search(query, meaning, half), '1');
  const size = `${store.chunks} chunks`;
  return {
    figures: [
      { name: `search of ${size}, recall@${DEPTH} against exact`, value: recall, unit: '', bar: { atLeast: 0.95 } },
      { name: `search, filter keeps 50 %, recall@${DEPTH} against exact`, value: halfRecall, unit: '' },
      { name: 'search, filter keeps 1 %, p50', value: alone.filtered.p50, unit: 'ms', bar: { atMost: 10 } },
      { name: 'search by meaning alone, filter keeps 1 %, p50', value: alone.filtered_meaning.p50, unit: 'ms' },
      { name: `search by meaning alone of ${size}, p50`, value: alone.meaning.p50, unit: 'ms' },
      { name: `hybrid search of ${size}, p50`, value: alone.hybrid.p50, unit: 'ms' },
      { name: 'search by meaning, 1 client', value: rates.meaning_1 ?? 0, unit: 'searches/s' },
      { name: 'search by meaning, 4 clients', value: rates.meaning_4 ?? 0, unit: 'searches/s' },
      { name: 'search by meaning, 16 clients', value: rates.meaning_16 ?? 0, unit: 'searches/s' },
      { name: 'search, filter keeps 1 %, 16 clients', value: rates.filtered_16 ?? 0, unit: 'searches/s' },
    ],
    remarks: [
      `Search: the indexes of ${size} were built in ${indexSeconds.toFixed(0)} s. A query's own vector is given.`,
    ],
    details: { alone, rates, recall, half_recall: halfRecall, index_seconds: indexSeconds },
  };
}

async function timeEach(
  queries: readonly SearchQuery[],
  search: (query: SearchQuery) => Promise<unknown>,
): Promise<Summary> {
  const durations: number[] = [];
  for (const query of queries) {
    const startMs = performance.now();
    await search(query);
    durations.push(performance.now() - startMs);
  }
  return summarize(durations);
}

/** Each client sends its next search once the one before is answered. */
async function countPerSecond(
  clients: number,
  seconds: number,
  queries: readonly SearchQuery[],
  search: (query: SearchQuery) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  let done = 0;
  const run = async (client: number): Promise<void> => {
    for (let next = client; performance.now() < endMs; next += clients) {
      const query = queries[next % queries.length];
      if (query !== undefined) await search(query);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return done / ((performance.now() - startMs) / 1000);
}

/** The share of the nearest that a search finds; `half` is the attribute that the files must have. */
async function measureRecall(
  { client }: BenchDatabase,
  { projectId, storeId }: SearchStore,
  queries: readonly SearchQuery[],
  search: (query: SearchQuery) => Promise<string[]>,
  half?: string,
): Promise<number> {
  let found = 0;
  for (const query of queries) {
    const { rows } = await client.query<{ chunk: string }>(
      `select c.file_id || ' ' || c.position as chunk from vector_store_chunks c
       join vector_store_files f using (project_id, vector_store_id, file_id)
       where c.project_id = $1 and c.vector_store_id = $2 and ($4::text is null or f.attributes->>'half' = $4)
       order by c.embedding <=> $3::halfvec limit ${DEPTH}`,
      [projectId, storeId, `[${query.vector.join(',')}]`, half ?? null],
    );
    const nearest = new Set(rows.map(({ chunk }) => chunk));
    found += (await search(query)).filter((chunk) => nearest.has(chunk)).length / DEPTH;
  }
  return found / queries.length;
}
