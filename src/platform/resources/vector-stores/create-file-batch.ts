import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { attachFiles, collapseRepeated, type FileToAttach } from './attach-files.ts';
import { readFileBatch } from './get-file-batch.ts';
import { type ChunkingTokens, readChunking } from './read-chunking.ts';
import type { VectorStoreFileBatch, VectorStoreFileBatchIn, VectorStorePath } from './schema.ts';
import { insertBatch } from './store.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function createFileBatch(
  jobs: Jobs,
  { tx, caller, params, body }: ProjectChange<{ params: VectorStorePath; body: VectorStoreFileBatchIn }>,
): Promise<VectorStoreFileBatch> {
  const store = await getVisibleStore(tx, caller, params.vsId);
  const files = readFiles(body, { chunkTokens: store.chunk_tokens, overlapTokens: store.overlap_tokens });
  const id = mintId('vsfb');
  await attachFiles(tx, jobs, caller, { vectorStoreId: store.id, files: collapseRepeated(files), batchId: id });
  await insertBatch(tx, { id, vector_store_id: store.id });
  return readFileBatch(tx, caller, { vsId: store.id, bid: id });
}

/** The files with their settings: their own, else the batch's, else the store's. Throws `invalid_request`. */
function readFiles(body: VectorStoreFileBatchIn, ofStore: ChunkingTokens): FileToAttach[] {
  const ofBatch = readChunking(body.chunking_strategy, ofStore);
  const attributes = body.attributes ?? null;
  if (body.files != null && body.file_ids != null) {
    throw new ApiError('invalid_request', { param: 'files', message: 'Give `file_ids` or `files`, not both.' });
  }
  if (body.files != null) {
    return body.files.map((file, at) => ({
      fileId: file.file_id,
      attributes: file.attributes === undefined ? attributes : file.attributes,
      ...readChunking(file.chunking_strategy, ofBatch, `files.${at}.chunking_strategy`),
      param: `files.${at}.file_id`,
    }));
  }
  if (body.file_ids != null) {
    return body.file_ids.map((fileId, at) => ({ fileId, attributes, ...ofBatch, param: `file_ids.${at}` }));
  }
  throw new ApiError('invalid_request', { param: 'file_ids', message: '`file_ids` or `files` is required.' });
}
