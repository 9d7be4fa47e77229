import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { findMissing } from '../../access/references.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { attachFiles, collapseRepeated } from './attach-files.ts';
import { getVectorStore } from './get.ts';
import { proveEmbeddingModel } from './prove-embedding-model.ts';
import { AUTO_CHUNKING, readChunking } from './read-chunking.ts';
import { readExpiry } from './read-expiry.ts';
import type { VectorStore, VectorStoreIn } from './schema.ts';
import { insertVectorStore } from './store.ts';

export async function createVectorStore(
  jobs: Jobs,
  { tx, caller, body }: ProjectChange<{ body: VectorStoreIn }>,
): Promise<VectorStore> {
  const chunking = readChunking(body.chunking_strategy, AUTO_CHUNKING);
  const smithId = await readOwner(tx, caller, body.smith_id ?? null);
  const id = mintId('vs');
  await insertVectorStore(tx, {
    id,
    smith_id: smithId,
    name: body.name ?? '',
    description: body.description ?? null,
    metadata: body.metadata ?? {},
    embedding_model: await proveEmbeddingModel(tx, body.embedding_model, smithId),
    chunk_tokens: chunking.chunkTokens,
    overlap_tokens: chunking.overlapTokens,
    expires_after_seconds: readExpiry(body.expires_after),
  });
  const data = { vector_store_id: id };
  await appendEvent(tx, { type: 'vector_store.created', smithId, actor: actorOf(caller), data });
  const files = (body.file_ids ?? []).map((fileId, at) => ({
    fileId,
    attributes: null,
    ...chunking,
    param: `file_ids.${at}`,
  }));
  if (files.length > 0) await attachFiles(tx, jobs, caller, { vectorStoreId: id, files: collapseRepeated(files) });
  return getVectorStore({ db: tx, caller, params: { vsId: id } });
}

/** Whose the store is to be; null: the tenant's. Throws `smith_mismatch` and `not_found`. */
async function readOwner(tx: TenantTransaction, caller: ProjectCaller, asked: string | null): Promise<string | null> {
  if (caller.kind === 'smith') {
    if (asked !== null && asked !== caller.smithId) throw new ApiError('smith_mismatch', { param: 'smith_id' });
    return caller.smithId;
  }
  if (asked !== null && (await findMissing(tx, caller, 'smith', [asked])) !== undefined) {
    throw new ApiError('not_found', {
      param: 'smith_id',
      message: `There is no smith ${asked} in this project. Create it with POST /v1/smiths first, or leave \`smith_id\` out.`,
    });
  }
  return asked;
}
