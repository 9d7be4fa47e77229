/** The public shapes of rows. */
import type { VectorStoreFileStatus } from '../../tables.ts';
import { DAY_SECONDS } from './read-expiry.ts';
import type { FileCounts, VectorStore, VectorStoreFile, VectorStoreFileBatch } from './schema.ts';
import type { BatchRow, VectorStoreRow } from './store.ts';
import type { StoreFileRow } from './store-file-store.ts';

export function renderVectorStore(row: VectorStoreRow): VectorStore {
  return {
    id: row.id,
    object: 'vector_store',
    created_at: toUnixSeconds(row.created_at),
    name: row.name,
    description: row.description,
    // The sweep takes the content; until then nobody pays for it.
    usage_bytes: row.is_expired ? 0 : row.usage_bytes,
    status: row.is_expired ? 'expired' : row.files_in_progress > 0 ? 'in_progress' : 'completed',
    file_counts: renderCounts({
      in_progress: row.files_in_progress,
      completed: row.files_completed,
      failed: row.files_failed,
      cancelled: row.files_cancelled,
    }),
    last_active_at: row.last_active_at === null ? null : toUnixSeconds(row.last_active_at),
    ...(row.expires_after_seconds === null ? {} : { expires_after: renderExpiry(row.expires_after_seconds) }),
    expires_at: row.expires_at === null ? null : toUnixSeconds(row.expires_at),
    metadata: row.metadata,
    smith_id: row.smith_id,
    embedding_model: row.embedding_model,
  };
}

/** In days where it was given so, or can be. */
function renderExpiry(seconds: number): NonNullable<VectorStore['expires_after']> {
  const isDays = seconds % DAY_SECONDS === 0;
  return { anchor: 'last_active_at', ...(isDays ? { days: seconds / DAY_SECONDS } : { seconds }) };
}

export function renderStoreFile(row: StoreFileRow): VectorStoreFile {
  return {
    id: row.file_id,
    object: 'vector_store.file',
    usage_bytes: row.usage_bytes,
    created_at: toUnixSeconds(row.created_at),
    vector_store_id: row.vector_store_id,
    status: row.status,
    last_error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: row.chunk_tokens, chunk_overlap_tokens: row.overlap_tokens },
    },
    attributes: row.attributes,
  };
}

export function renderBatch(row: BatchRow): VectorStoreFileBatch {
  return {
    id: row.id,
    object: 'vector_store.files_batch',
    created_at: toUnixSeconds(row.created_at),
    vector_store_id: row.vector_store_id,
    status: statusOf(row),
    file_counts: renderCounts(row.counts),
  };
}

function statusOf({ cancelled_at, counts }: BatchRow): VectorStoreFileBatch['status'] {
  if (cancelled_at !== null) return 'cancelled';
  if (counts.in_progress > 0) return 'in_progress';
  const others = counts.completed + counts.cancelled;
  return counts.failed > 0 && others === 0 ? 'failed' : 'completed';
}

function renderCounts(counts: Readonly<Record<VectorStoreFileStatus, number>>): FileCounts {
  const { in_progress, completed, failed, cancelled } = counts;
  return { in_progress, completed, failed, cancelled, total: in_progress + completed + failed + cancelled };
}

function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
