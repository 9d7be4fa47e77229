import { project } from '../../access/operation.ts';
import { cancelFileBatch } from './cancel-file-batch.ts';
import { createVectorStore } from './create.ts';
import { createFileBatch } from './create-file-batch.ts';
import { createStoreFile } from './create-store-file.ts';
import { deleteVectorStore } from './delete.ts';
import { deleteStoreFile } from './delete-store-file.ts';
import type { VectorStoreDependencies } from './dependencies.ts';
import { getVectorStore } from './get.ts';
import { getFileBatch } from './get-file-batch.ts';
import { getStoreFile } from './get-store-file.ts';
import { getStoreFileContent } from './get-store-file-content.ts';
import { listVectorStores } from './list.ts';
import { listBatchFiles } from './list-batch-files.ts';
import { listStoreFiles } from './list-store-files.ts';
import * as schema from './schema.ts';
import { searchVectorStore } from './search.ts';
import { updateVectorStore } from './update.ts';
import { updateStoreFile } from './update-store-file.ts';

const read = { posture: 'any', scope: 'vector_stores:read' } as const;
const write = { posture: 'any', scope: 'vector_stores:write' } as const;

const ATTACH_ERRORS = ['file_already_attached', 'invalid_state'];
const PAGE_ERRORS = ['invalid_cursor', 'invalid_limit'];

export function vectorStoreOperations({ jobs, search, clock }: VectorStoreDependencies) {
  return [
    project.change({
      ...write,
      id: 'vector_stores.create',
      method: 'POST',
      path: '/v1/vector_stores',
      summary: 'Create a vector store',
      description:
        'The files named are indexed in the background: poll the store until its `status` is `completed`. A file that is ' +
        'named twice counts once. `chunking_strategy` holds for every file that is added without one of its own.',
      body: schema.VectorStoreIn,
      example: { name: 'Handbook' },
      reply: schema.VectorStore,
      errors: ['not_found', 'smith_mismatch', 'unknown_provider', 'model_key_missing'],
      handler: (request) => createVectorStore(jobs, request),
    }),
    project.read({
      ...read,
      id: 'vector_stores.list',
      method: 'GET',
      path: '/v1/vector_stores',
      summary: 'List vector stores',
      query: schema.StoreListQuery,
      reply: schema.VectorStoreList,
      errors: PAGE_ERRORS,
      handler: listVectorStores,
    }),
    project.read({
      ...read,
      id: 'vector_stores.get',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}',
      summary: 'Get a vector store',
      params: schema.VectorStorePath,
      reply: schema.VectorStore,
      handler: getVectorStore,
    }),
    project.change({
      ...write,
      id: 'vector_stores.update',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}',
      idempotent: false,
      summary: 'Change a vector store',
      description: 'Changes the members that are given. Null empties a member.',
      params: schema.VectorStorePath,
      body: schema.VectorStorePatch,
      example: { name: 'Handbook of today' },
      reply: schema.VectorStore,
      handler: updateVectorStore,
    }),
    project.change({
      ...write,
      id: 'vector_stores.delete',
      method: 'DELETE',
      path: '/v1/vector_stores/{vsId}',
      summary: 'Delete a vector store',
      description: 'It is gone at once. The files themselves stay.',
      params: schema.VectorStorePath,
      reply: schema.VectorStoreDeleted,
      handler: (request) => deleteVectorStore(jobs, request),
    }),
    project.change({
      ...write,
      id: 'vector_stores.files.create',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}/files',
      summary: 'Add a file to a vector store',
      description:
        'It is indexed in the background: poll it until its `status` is not `in_progress`. A file whose indexing failed or ' +
        'was cancelled can be added again.',
      params: schema.VectorStorePath,
      body: schema.VectorStoreFileIn,
      example: { file_id: 'file_01J8Z3M6QK4T9W2X5Y7B8C9D0E' },
      reply: schema.VectorStoreFile,
      errors: ATTACH_ERRORS,
      handler: (request) => createStoreFile(jobs, request),
    }),
    project.read({
      ...read,
      id: 'vector_stores.files.list',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}/files',
      summary: 'List the files of a vector store',
      params: schema.VectorStorePath,
      query: schema.FileListQuery,
      reply: schema.VectorStoreFileList,
      errors: PAGE_ERRORS,
      handler: listStoreFiles,
    }),
    project.read({
      ...read,
      id: 'vector_stores.files.get',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}/files/{fid}',
      summary: 'Get a file of a vector store',
      description: 'While it is being indexed, the header `openai-poll-after-ms` says when to ask again.',
      params: schema.VectorStoreFilePath,
      reply: schema.VectorStoreFile,
      handler: (request) => getStoreFile(clock, request),
    }),
    project.change({
      ...write,
      id: 'vector_stores.files.update',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}/files/{fid}',
      idempotent: false,
      summary: 'Replace the attributes of a file of a vector store',
      params: schema.VectorStoreFilePath,
      body: schema.VectorStoreFileUpdate,
      example: { attributes: { language: 'en' } },
      reply: schema.VectorStoreFile,
      handler: updateStoreFile,
    }),
    project.change({
      ...write,
      id: 'vector_stores.files.delete',
      method: 'DELETE',
      path: '/v1/vector_stores/{vsId}/files/{fid}',
      summary: 'Remove a file from a vector store',
      description: 'The file itself stays.',
      params: schema.VectorStoreFilePath,
      reply: schema.VectorStoreFileDeleted,
      handler: deleteStoreFile,
    }),
    project.read({
      ...read,
      id: 'vector_stores.files.content',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}/files/{fid}/content',
      summary: 'Get the indexed text of a file',
      description:
        'One part for each chunk, as it is searched, in order: neighbours share the text of their overlap. Empty unless the ' +
        'file is `completed`.',
      params: schema.VectorStoreFilePath,
      reply: schema.VectorStoreFileContent,
      handler: getStoreFileContent,
    }),
    project.change({
      ...write,
      id: 'vector_stores.file_batches.create',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}/file_batches',
      summary: 'Add many files to a vector store',
      description: 'All of them are added, or none: one that is there already, or does not exist, refuses the batch.',
      params: schema.VectorStorePath,
      body: schema.VectorStoreFileBatchIn,
      example: { file_ids: ['file_01J8Z3M6QK4T9W2X5Y7B8C9D0E'] },
      reply: schema.VectorStoreFileBatch,
      errors: ATTACH_ERRORS,
      handler: (request) => createFileBatch(jobs, request),
    }),
    project.read({
      ...read,
      id: 'vector_stores.file_batches.get',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}/file_batches/{bid}',
      summary: 'Get a batch of files',
      description:
        'It counts the files that are in the store by this batch still. While any is in progress, the header ' +
        '`openai-poll-after-ms` says when to ask again.',
      params: schema.VectorStoreBatchPath,
      reply: schema.VectorStoreFileBatch,
      handler: (request) => getFileBatch(clock, request),
    }),
    project.change({
      ...write,
      id: 'vector_stores.file_batches.cancel',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}/file_batches/{bid}/cancel',
      idempotent: false,
      summary: 'Cancel a batch of files',
      description:
        'Files in progress become `cancelled`; those that are completed stay. A batch that has ended stays so.',
      params: schema.VectorStoreBatchPath,
      reply: schema.VectorStoreFileBatch,
      handler: cancelFileBatch,
    }),
    project.read({
      ...read,
      id: 'vector_stores.file_batches.files.list',
      method: 'GET',
      path: '/v1/vector_stores/{vsId}/file_batches/{bid}/files',
      summary: 'List the files of a batch',
      params: schema.VectorStoreBatchPath,
      query: schema.FileListQuery,
      reply: schema.VectorStoreFileList,
      errors: PAGE_ERRORS,
      handler: listBatchFiles,
    }),
    project.read({
      ...read,
      id: 'vector_stores.search',
      method: 'POST',
      path: '/v1/vector_stores/{vsId}/search',
      summary: 'Search a vector store',
      description: 'By meaning and by words. At most 1,000 results can be reached by paging.',
      params: schema.VectorStorePath,
      body: schema.VectorStoreSearchIn,
      example: { query: 'When is the office closed?' },
      reply: schema.VectorStoreSearchOut,
      errors: [
        'invalid_cursor',
        'invalid_state',
        'embedding_unavailable',
        'budget_exceeded',
        'model_key_missing',
        'bedrock_unconfigured',
      ],
      handler: (request) => searchVectorStore(search, request),
    }),
  ];
}
