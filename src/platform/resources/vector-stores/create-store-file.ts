import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { attachFiles } from './attach-files.ts';
import { readStoreFile } from './get-store-file.ts';
import { readChunking } from './read-chunking.ts';
import type { VectorStoreFile, VectorStoreFileIn, VectorStorePath } from './schema.ts';
import { getVisibleStore } from './store-visibility.ts';

export async function createStoreFile(
  jobs: Jobs,
  { tx, caller, params, body }: ProjectChange<{ params: VectorStorePath; body: VectorStoreFileIn }>,
): Promise<VectorStoreFile> {
  const store = await getVisibleStore(tx, caller, params.vsId);
  const fallback = { chunkTokens: store.chunk_tokens, overlapTokens: store.overlap_tokens };
  const file = {
    fileId: body.file_id,
    attributes: body.attributes ?? null,
    ...readChunking(body.chunking_strategy, fallback),
    param: 'file_id',
  };
  await attachFiles(tx, jobs, caller, { vectorStoreId: store.id, files: [file] });
  return readStoreFile(tx, caller, { vsId: store.id, fid: body.file_id });
}
