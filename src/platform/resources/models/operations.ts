import { project } from '../../access/operation.ts';
import { getModel } from './get-model.ts';
import { listModels, listRunnableModels } from './list-models.ts';
import { Model, ModelList, ModelPath, RunnableModelList } from './schema.ts';

export function modelOperations() {
  return [
    project.read({
      id: 'tenant.models.list',
      method: 'GET',
      path: '/v1/tenant/models',
      posture: 'tenant',
      summary: 'List the models that the tenant can run',
      description:
        'The built-in one, and the known models of every provider that the tenant has a key for. A provider’s other ' +
        'models run too, among them all of a self-hosted server: name them `provider/model`.',
      reply: RunnableModelList,
      handler: listRunnableModels,
    }),
    project.read({
      id: 'models.list',
      method: 'GET',
      path: '/v1/models',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List models, in the OpenAI dialect',
      description: 'Those that the caller can run. A smith token sees those of its smith’s own keys as well.',
      reply: ModelList,
      handler: listModels,
    }),
    project.read({
      id: 'models.get',
      method: 'GET',
      path: '/v1/models/{model}',
      restOfPath: true,
      posture: 'any',
      scope: 'runs:read',
      summary: 'Get a model, in the OpenAI dialect',
      description:
        'The slash in the id may be encoded or not: `/v1/models/openai%2Fgpt-4o` is `/v1/models/openai/gpt-4o`.',
      params: ModelPath,
      reply: Model,
      handler: getModel,
    }),
  ];
}
