import { deletedReply, openAiListOf } from '../../../kernel/http/openai-paging.ts';
import { component } from '../../../kernel/http/schema.ts';
import { project } from '../../access/operation.ts';
import { createFile, type FileDependencies, fileUploads } from './create-file.ts';
import { deleteFile } from './delete-file.ts';
import { getContent } from './get-content.ts';
import { getFile } from './get-file.ts';
import { listFiles } from './list-files.ts';
import { File, FileFields, FileListQuery, FilePath } from './schema.ts';

export function fileOperations(deps: FileDependencies) {
  return [
    project.upload({
      id: 'files.create',
      method: 'POST',
      path: '/v1/files',
      posture: 'any',
      scope: 'files:write',
      summary: 'Upload a file',
      description:
        'The file is the part `file` of a form; its name is kept without folders and control characters. What is ' +
        'uploaded with a smith token belongs to that smith. Fields that are not listed are ignored. What the files of a ' +
        'project may take together is shown by `GET /v1/tenant/storage`; a file that does not fit is `payload_too_large`.',
      fields: FileFields,
      upload: fileUploads(deps),
      reply: File,
      errors: ['storage_unavailable'],
      handler: (request) => createFile(deps.config, request),
    }),
    project.read({
      id: 'files.list',
      method: 'GET',
      path: '/v1/files',
      posture: 'any',
      scope: 'files:read',
      summary: 'List files, newest first',
      description: 'Uploads, and files that a sandbox made. A smith token lists what belongs to its smith.',
      query: FileListQuery,
      reply: openAiListOf(File),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listFiles,
    }),
    project.read({
      id: 'files.get',
      method: 'GET',
      path: '/v1/files/{fid}',
      posture: 'any',
      scope: 'files:read',
      summary: 'Get a file',
      description: 'Also one that came inside a conversation, which no list shows.',
      params: FilePath,
      reply: File,
      handler: getFile,
    }),
    project.change({
      id: 'files.delete',
      method: 'DELETE',
      path: '/v1/files/{fid}',
      posture: 'any',
      scope: 'files:write',
      summary: 'Delete a file',
      description:
        'Vector stores lose it too: what was indexed of it is found no more, and where it was still being indexed it ' +
        'is `failed`.',
      params: FilePath,
      reply: FileDeleted,
      handler: (request) => deleteFile(deps, request),
    }),
    project.read({
      id: 'files.content',
      method: 'GET',
      path: '/v1/files/{fid}/content',
      posture: 'any',
      scope: 'files:read',
      summary: 'Download a file',
      description: 'The bytes, with the media type of the file. `Range` and `If-None-Match` are honoured.',
      params: FilePath,
      answers: 'bytes',
      errors: ['storage_unavailable'],
      handler: (request) => getContent(deps.blobs, request),
    }),
  ];
}

const FileDeleted = component('FileDeleted', deletedReply('file'));
