/** Files into a vector store, from the request that makes the store to its last file's last chunk. */
import Type, { type Static } from 'typebox';
import { Parse } from 'typebox/value';
import { Chunker } from '../../src/platform/knowledge/read/chunker.ts';
import type { BenchDatabase } from '../database.ts';
import type { Findings } from '../figure.ts';
import type { Ironcraft } from '../ironcraft.ts';
import { watchCpu } from '../process-usage.ts';
import { EMBEDDING_MODEL } from '../upstream/embeddings.ts';
import { registerUpstream, startUpstream } from '../upstream/start-upstream.ts';
import type { BenchContext } from './bench-context.ts';
import { makeText } from './make-text.ts';
import { percent } from './remarks.ts';

const BUILTIN_MODEL = 'builtin/embed';
const CHUNKING = { chunkTokens: 800, overlapTokens: 400 };
const SMALL_BYTES = 50_000;
const BIG_BYTES = 1_000_000;
const BYTES_PER_MB = 1_000_000;
const UPLOADS_AT_ONCE = 4;
const POLL_MS = 100;
const TIMEOUT_MS = 600_000;

const Identified = Type.Object({ id: Type.String() });
const VectorStore = Type.Object({
  status: Type.String(),
  file_counts: Type.Object({ completed: Type.Integer(), failed: Type.Integer(), total: Type.Integer() }),
});
const StoreFiles = Type.Object({ data: Type.Array(Type.Object({ last_error: Type.Unknown() })) });

interface Ingested {
  readonly files: number;
  readonly megabytes: number;
  readonly chunks: number;
  readonly uploadSeconds: number;
  readonly seconds: number;
  /** Shares of one core by the server, with its worker threads, and of all cores by everybody. */
  readonly serverUsed: number | undefined;
  readonly machine: number;
}

export async function measureIngest(context: BenchContext): Promise<Findings> {
  const { server, quick } = context;
  await using served = context.served.use(new AsyncDisposableStack());
  const model = await registerUpstream(server, await startUpstream(served), EMBEDDING_MODEL);
  const many = quick ? [...sizes(4, SMALL_BYTES), 200_000] : [...sizes(80, SMALL_BYTES), ...sizes(6, BIG_BYTES)];
  const few = quick ? [10_000] : sizes(4, SMALL_BYTES);
  const pipeline = await ingest(context, 'vectors of the upstream', model, many);
  const builtin = await ingest(context, BUILTIN_MODEL, BUILTIN_MODEL, few);
  const pace = (ingested: Ingested) => [
    { value: ingested.megabytes / ingested.seconds, unit: 'MB/s' as const },
    { value: ingested.chunks / ingested.seconds, unit: 'chunks/s' as const },
  ];
  return {
    figures: [
      { name: 'upload of files', value: pipeline.megabytes / pipeline.uploadSeconds, unit: 'MB/s' },
      ...pace(pipeline).map((figure) => ({ name: 'ingest, vectors at once', ...figure })),
      ...pace(builtin).map((figure) => ({ name: `ingest, ${BUILTIN_MODEL}`, ...figure })),
    ],
    remarks: [describe('vectors at once', pipeline), describe(BUILTIN_MODEL, builtin)],
    details: { pipeline, builtin },
  };
}

function sizes(count: number, bytes: number): number[] {
  return Array.from({ length: count }, () => bytes);
}

async function ingest(
  { server, database, say }: BenchContext,
  what: string,
  model: string,
  fileSizes: readonly number[],
): Promise<Ingested> {
  const texts = fileSizes.map((bytes, index) => makeText(index, bytes));
  const chunks = texts.reduce((sum, text) => sum + countChunks(text), 0);
  const megabytes = fileSizes.reduce((sum, bytes) => sum + bytes, 0) / BYTES_PER_MB;
  say(`ingest: ${fileSizes.length} files, ${megabytes} MB, ${chunks} chunks, ${what}`);
  const uploadFrom = performance.now();
  const fileIds = await uploadAll(server, texts);
  const startedAt = performance.now();
  const { result: storeId, usage } = await watchCpu(server.pid, () => fillStore(server, model, fileIds));
  const seconds = (performance.now() - startedAt) / 1000;
  if (database !== undefined) await checkChunks(database, storeId, chunks);
  return {
    files: fileSizes.length,
    megabytes,
    chunks,
    uploadSeconds: (startedAt - uploadFrom) / 1000,
    seconds,
    serverUsed: usage.used,
    machine: usage.machine,
  };
}

/** As the server cuts it: no answer of the API tells the number. */
function countChunks(text: string): number {
  const chunker = new Chunker(CHUNKING);
  return [...chunker.push(text)].length + [...chunker.finish()].length;
}

async function checkChunks({ client }: BenchDatabase, storeId: string, expected: number): Promise<void> {
  const { rows } = await client.query<{ chunks: number }>(
    'select count(*)::int as chunks from vector_store_chunks where vector_store_id = $1',
    [storeId],
  );
  const stored = rows[0]?.chunks;
  if (stored !== expected) throw new Error(`${storeId} holds ${stored} chunks where ${expected} were expected`);
}

/** Returns the files' ids, in order. */
async function uploadAll(server: Ironcraft, texts: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < texts.length; index = next++) {
      ids[index] = await upload(server, `${index}.txt`, texts[index] ?? '');
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, work));
  return ids;
}

async function upload({ host, port, credentials }: Ironcraft, filename: string, text: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob([text], { type: 'text/plain' }), filename);
  const response = await fetch(`http://${host}:${port}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credentials.tenant_token}` },
    body: form,
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`POST /v1/files answered ${response.status}: ${answer.slice(0, 500)}`);
  return Parse(Identified, JSON.parse(answer)).id;
}

/** Resolves with the store's id when every file is in. Throws when one could not be read or embedded. */
async function fillStore(server: Ironcraft, model: string, fileIds: readonly string[]): Promise<string> {
  const { tenant_token: token } = server.credentials;
  const { chunkTokens, overlapTokens } = CHUNKING;
  const chunking = { max_chunk_size_tokens: chunkTokens, chunk_overlap_tokens: overlapTokens };
  const body = { file_ids: fileIds, embedding_model: model, chunking_strategy: { type: 'static', static: chunking } };
  const { id } = Parse(Identified, await server.call(token, 'POST', '/v1/vector_stores', body));
  const deadline = performance.now() + TIMEOUT_MS;
  let store: Static<typeof VectorStore>;
  do {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    store = Parse(VectorStore, await server.call(token, 'GET', `/v1/vector_stores/${id}`));
    if (performance.now() > deadline) throw new Error(`${id} is not filled after ${TIMEOUT_MS / 1000} s`);
  } while (store.status !== 'completed');
  if (store.file_counts.completed === fileIds.length) return id;
  const failed = await server.call(token, 'GET', `/v1/vector_stores/${id}/files?filter=failed&limit=1`);
  const [example] = Parse(StoreFiles, failed).data;
  throw new Error(`${store.file_counts.failed} files failed: ${JSON.stringify(example?.last_error)}`);
}

function describe(what: string, { files, megabytes, chunks, seconds, serverUsed, machine }: Ingested): string {
  const used = serverUsed === undefined ? '' : `, server at ${percent(serverUsed)} of a core`;
  const { chunkTokens, overlapTokens } = CHUNKING;
  return (
    `Ingest, ${what}: ${megabytes} MB in ${files} ${files === 1 ? 'file' : 'files'}, ${chunks} chunks of ${chunkTokens} tokens with an overlap of ` +
    `${overlapTokens}, in ${seconds.toFixed(1)} s${used}, machine ${percent(machine)} busy.`
  );
}
