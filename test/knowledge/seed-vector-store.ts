/** Vector stores written straight into the tables, as ingestion leaves them. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/kernel/db/database.ts';
import { json } from '../../src/kernel/db/values.ts';
import type { Embedder, Embedders } from '../../src/platform/knowledge/embed/index.ts';
import { createOrganization, createProject } from '../../src/platform/resources/projects/provision-project.ts';
import type { FileAttributes, VectorStoreFileStatus } from '../../src/platform/tables.ts';

export interface SeedFile {
  readonly id: string;
  readonly chunks: readonly (string | { readonly text: string; readonly vector: readonly number[] })[];
  readonly attributes?: FileAttributes | null;
  readonly status?: VectorStoreFileStatus;
  /** What the file's row says; by default as many as there are. */
  readonly chunkCount?: number;
}

export interface SeedStore {
  readonly id: string;
  readonly model?: string;
  readonly deleted?: boolean;
  readonly files: readonly SeedFile[];
}

const TEST_EMBED_MODEL = 'test/words';
const dimensions = 64;

/** Texts that share words lie near each other: each word adds one direction of its own. */
export function embedWords(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    let hash = 2166136261;
    for (const character of word) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
    const direction = (hash >>> 0) % dimensions;
    vector[direction] = (vector[direction] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((component) => component / length);
}

export interface TestEmbedders extends Embedders {
  /** Each call: the model and the texts. */
  readonly calls: { readonly model: string; readonly texts: readonly string[] }[];
}

/** `embed` gives the vector of a text under a model; by default `embedWords`, whatever the model. */
export function createTestEmbedders(
  embed: (text: string, model: string) => Float32Array | readonly number[] = embedWords,
): TestEmbedders {
  const calls: { model: string; texts: readonly string[] }[] = [];
  return {
    calls,
    open: (_projectId, model): Promise<Embedder> =>
      Promise.resolve({
        model,
        embed(texts) {
          calls.push({ model, texts });
          return Promise.resolve({ vectors: texts.map((text) => Float32Array.from(embed(text, model))), tokens: 0 });
        },
      }),
  };
}

/** Returns its id. */
export async function seedProject(db: Database): Promise<string> {
  const name = `Test ${randomBytes(6).toString('hex')}`;
  return db.transaction(async (tx) => {
    const { id } = await createOrganization(tx, { name });
    return (await createProject(tx, { organizationId: id, name })).project.id;
  });
}

export async function seedVectorStore(db: Database, projectId: string, store: SeedStore): Promise<void> {
  await db.query({
    text: `insert into vector_stores (project_id, id, embedding_model, chunk_tokens, overlap_tokens, deleted_at)
      values ($1, $2, $3, 800, 400, case when $4 then now() end)`,
    values: [projectId, store.id, store.model ?? TEST_EMBED_MODEL, store.deleted ?? false],
  });
  for (const file of store.files) await seedFile(db, projectId, store.id, file);
}

async function seedFile(db: Database, projectId: string, storeId: string, file: SeedFile): Promise<void> {
  await db.query({
    text: `insert into files (project_id, id, filename, media_type, purpose, bytes, sha256)
      values ($1, $2, $2 || '.txt', 'text/plain', 'assistants', 0, '') on conflict do nothing`,
    values: [projectId, file.id],
  });
  const { attributes = null, status = 'completed', chunkCount = file.chunks.length } = file;
  await db.query({
    text: `insert into vector_store_files
        (project_id, vector_store_id, file_id, status, attributes, chunk_tokens, overlap_tokens, chunk_count)
      values ($1, $2, $3, $4, $5, 800, 400, $6)`,
    values: [projectId, storeId, file.id, status, attributes && json(attributes), chunkCount],
  });
  const chunks = file.chunks.map((chunk) =>
    typeof chunk === 'string' ? { text: chunk, vector: [...embedWords(chunk)] } : chunk,
  );
  await db.query({
    text: `insert into vector_store_chunks (project_id, vector_store_id, file_id, position, text, tokens, embedding)
      select $1, $2, $3, n - 1, text, 1, vector::vector
      from unnest($4::text[], $5::text[]) with ordinality as c (text, vector, n)`,
    values: [projectId, storeId, file.id, chunks.map(({ text }) => text), chunks.map(({ vector }) => json(vector))],
  });
}
