/** Files, vector stores, and what smiths remember. */
import type { ColumnType, Generated } from 'kysely';
import type { Actor, Json, JsonDefault, JsonObject, ProjectId, TableNames } from './columns.ts';

interface FilesTable {
  project_id: ProjectId;
  id: string;
  smith_id: string | null;
  filename: string;
  media_type: string;
  purpose: string;
  bytes: number;
  sha256: string;
  listed: Generated<boolean>;
  created_at: Generated<Date>;
  expires_at: Date | null;
}

interface VectorStoresTable {
  project_id: ProjectId;
  id: string;
  smith_id: string | null;
  name: Generated<string>;
  description: string | null;
  metadata: JsonDefault<JsonObject>;
  embedding_model: string;
  chunk_tokens: number;
  overlap_tokens: number;
  files_in_progress: Generated<number>;
  files_completed: Generated<number>;
  files_failed: Generated<number>;
  files_cancelled: Generated<number>;
  usage_bytes: Generated<number>;
  last_active_at: Date | null;
  expires_after_seconds: number | null;
  expired_at: Date | null;
  created_at: Generated<Date>;
  deleted_at: Date | null;
}

interface VectorStoreBatchesTable {
  project_id: ProjectId;
  vector_store_id: string;
  id: string;
  cancelled_at: Date | null;
  created_at: Generated<Date>;
}

export type VectorStoreFileStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';
export type IngestErrorCode = 'server_error' | 'unsupported_file' | 'no_text_layer' | 'invalid_file';
export type FileAttributes = Record<string, string | number | boolean>;

interface VectorStoreFilesTable {
  project_id: ProjectId;
  vector_store_id: string;
  file_id: string;
  position: Generated<number>;
  batch_id: string | null;
  status: Generated<VectorStoreFileStatus>;
  attributes: Json<FileAttributes> | null;
  chunk_tokens: number;
  overlap_tokens: number;
  chunk_count: Generated<number>;
  usage_bytes: Generated<number>;
  error_code: IngestErrorCode | null;
  error_message: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  queued_at: Date | null;
  attempts: Generated<number>;
  abrupt_ends: Generated<number>;
  actor: Json<Actor> | null;
}

interface VectorStoreChunksTable {
  project_id: ProjectId;
  vector_store_id: string;
  file_id: string;
  position: number;
  text: string;
  tokens: number;
  /** pgvector's text form, `[0.1,0.2]`. */
  embedding: string;
  lexemes: ColumnType<string, never, never>;
}

/** Blobs that no row stands for yet, or no longer. */
interface UnclaimedBlobsTable {
  project_id: ProjectId;
  blob_key: string;
  removable_at: Date;
}

/** What a project's files take, in all. */
interface ProjectStorageTable {
  project_id: ProjectId;
  used_bytes: number;
}

interface SmithMemoriesTable {
  project_id: ProjectId;
  smith_id: string;
  content: Generated<string>;
  recalls: Generated<boolean>;
  updated_at: Generated<Date>;
}

interface RecallPassagesTable {
  project_id: ProjectId;
  smith_id: string;
  thread_id: string;
  turn: number;
  position: number;
  run_id: string | null;
  text: string;
  /** pgvector's text form, `[0.1,0.2]`. */
  embedding: string;
}

export interface KnowledgeTables {
  files: FilesTable;
  unclaimed_blobs: UnclaimedBlobsTable;
  project_storage: ProjectStorageTable;
  vector_stores: VectorStoresTable;
  vector_store_batches: VectorStoreBatchesTable;
  vector_store_files: VectorStoreFilesTable;
  vector_store_chunks: VectorStoreChunksTable;
  smith_memories: SmithMemoriesTable;
  recall_passages: RecallPassagesTable;
}

export const knowledgeTables: TableNames<KnowledgeTables> = {
  files: true,
  unclaimed_blobs: true,
  project_storage: true,
  vector_stores: true,
  vector_store_batches: true,
  vector_store_files: true,
  vector_store_chunks: true,
  smith_memories: true,
  recall_passages: true,
};
