import { project } from '../../../access/operation.ts';
import { UiResource } from '../../../configuration/schema.ts';
import type { FileDependencies } from '../../files/index.ts';
import { AgentPath } from '../schema.ts';
import { deleteUi } from './delete-ui.ts';
import { getUi } from './get-ui.ts';
import { getUiContent } from './get-ui-content.ts';
import { listUi } from './list-ui.ts';
import { UiResourceFields, UiResourceList, UiResourcePath, UiResourceQuery } from './schema.ts';
import { bundleUploads } from './store-bundle.ts';
import { MAX_RESOURCES, MAX_RESOURCES_BYTES, uploadUi } from './upload-ui.ts';

export function uiOperations(deps: FileDependencies) {
  return [
    project.upload({
      id: 'agents.ui.upload',
      method: 'POST',
      path: '/v1/agents/{aid}/ui',
      posture: 'tenant',
      summary: 'Upload a UI resource',
      description:
        'One HTML document in UTF-8, with what it may reach, into the agent’s draft: 201 with a new one, 200 where it replaces ' +
        'the one of its name, with all members. Publishing freezes it. With `tool` the agent’s turns offer a tool of that ' +
        `name, whose result is its instruction, the arguments and \`ui://{agent}/{name}\`. At most ${MAX_RESOURCES} an agent, and ` +
        `${MAX_RESOURCES_BYTES} bytes of JSON beside the documents.`,
      status: 201,
      alsoStatus: [200],
      params: AgentPath,
      fields: UiResourceFields,
      upload: bundleUploads(deps),
      reply: UiResource,
      errors: ['invalid_bundle', 'invalid_name', 'name_required', 'schema_error', 'storage_unavailable'],
      handler: (request) => uploadUi(deps, request),
    }),
    project.read({
      id: 'agents.ui.list',
      method: 'GET',
      path: '/v1/agents/{aid}/ui',
      posture: 'tenant',
      summary: 'List an agent’s UI resources',
      description: 'In the order in which they came; all of them.',
      params: AgentPath,
      query: UiResourceQuery,
      reply: UiResourceList,
      handler: listUi,
    }),
    project.read({
      id: 'agents.ui.get',
      method: 'GET',
      path: '/v1/agents/{aid}/ui/{name}',
      posture: 'tenant',
      summary: 'Get a UI resource',
      params: UiResourcePath,
      query: UiResourceQuery,
      reply: UiResource,
      handler: getUi,
    }),
    project.change({
      id: 'agents.ui.delete',
      method: 'DELETE',
      path: '/v1/agents/{aid}/ui/{name}',
      posture: 'tenant',
      summary: 'Take a UI resource out of an agent’s draft',
      description: 'Versions that have it keep it.',
      params: UiResourcePath,
      handler: (request) => deleteUi(deps, request),
    }),
    project.read({
      id: 'agents.ui.content',
      method: 'GET',
      path: '/v1/agents/{aid}/ui/{name}/content',
      posture: 'tenant',
      summary: 'Download the document of a UI resource',
      description:
        'Its `Content-Security-Policy` has a sandbox and allows what `csp` names. `ETag` is `content_hash`; `Range` and ' +
        '`If-None-Match` are honoured.',
      params: UiResourcePath,
      query: UiResourceQuery,
      answers: 'bytes',
      errors: ['storage_unavailable'],
      handler: (request) => getUiContent(deps.blobs, request),
    }),
  ];
}
