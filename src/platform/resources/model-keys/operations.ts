import { project } from '../../access/operation.ts';
import { deleteSmithModelKey, deleteTenantModelKey } from './delete-model-key.ts';
import type { ModelKeyDependencies } from './dependencies.ts';
import { listSmithModelKeys, listTenantModelKeys } from './list-model-keys.ts';
import { putSmithModelKey, putTenantModelKey } from './put-model-key.ts';
import { ModelKeyConfigured, ModelKeyIn, ModelKeyList, ProviderPath, SmithPath, SmithProviderPath } from './schema.ts';

const putErrors = [
  'unknown_provider',
  'unsupported',
  'empty_key',
  'workspace_id_unsupported',
  'url_required',
  'invalid_url',
  'bedrock_unconfigured',
];

export function modelKeyOperations(deps: ModelKeyDependencies) {
  return [
    project.read({
      id: 'tenant.model_keys.list',
      method: 'GET',
      path: '/v1/tenant/model_keys',
      posture: 'admin',
      summary: 'List the tenant’s model keys',
      description: 'Those that are set, by provider. Never the keys themselves.',
      reply: ModelKeyList,
      handler: listTenantModelKeys,
    }),
    // `turn` rather than `change`: the address is looked up before the transaction begins, not inside it.
    project.turn({
      id: 'tenant.model_keys.put',
      method: 'PUT',
      path: '/v1/tenant/model_keys/{provider}',
      posture: 'admin',
      summary: 'Set the tenant’s key of a model provider',
      description:
        'Replaces the key of that provider as a whole: what is left out is unset. It holds from the next model call on.',
      params: ProviderPath,
      body: ModelKeyIn,
      example: { api_key: 'sk-your-key' },
      reply: ModelKeyConfigured,
      errors: putErrors,
      handler: putTenantModelKey(deps),
    }),
    project.change({
      id: 'tenant.model_keys.delete',
      method: 'DELETE',
      path: '/v1/tenant/model_keys/{provider}',
      posture: 'admin',
      summary: 'Delete the tenant’s key of a model provider',
      params: ProviderPath,
      handler: deleteTenantModelKey,
    }),
    project.read({
      id: 'smiths.model_keys.list',
      method: 'GET',
      path: '/v1/smiths/{sid}/model_keys',
      posture: 'any',
      scope: 'model_keys:read',
      summary: 'List a smith’s own model keys',
      description: 'Those that its end user has set, by provider. Never the keys themselves, and not the tenant’s.',
      params: SmithPath,
      reply: ModelKeyList,
      handler: listSmithModelKeys,
    }),
    project.turn({
      id: 'smiths.model_keys.put',
      method: 'PUT',
      path: '/v1/smiths/{sid}/model_keys/{provider}',
      posture: 'any',
      scope: 'model_keys:write',
      summary: 'Set a smith’s own key of a model provider',
      description:
        'The smith’s turns use it in place of the tenant’s, address and workspace included. Replaces the smith’s key of ' +
        'that provider as a whole: what is left out is unset.',
      params: SmithProviderPath,
      body: ModelKeyIn,
      example: { api_key: 'sk-your-key' },
      reply: ModelKeyConfigured,
      errors: putErrors,
      handler: putSmithModelKey(deps),
    }),
    project.change({
      id: 'smiths.model_keys.delete',
      method: 'DELETE',
      path: '/v1/smiths/{sid}/model_keys/{provider}',
      posture: 'any',
      scope: 'model_keys:write',
      summary: 'Delete a smith’s own key of a model provider',
      description: 'Its turns use the tenant’s from then on.',
      params: SmithProviderPath,
      handler: deleteSmithModelKey,
    }),
  ];
}
