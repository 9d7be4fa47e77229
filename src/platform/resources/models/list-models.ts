import type { ProjectRead } from '../../access/operation.ts';
import { listAvailableProviders, listModelsOf } from './available-models.ts';
import { renderModel, renderRunnableModel } from './render-model.ts';
import type { ModelList, RunnableModelList } from './schema.ts';

export async function listModels({ db, caller }: ProjectRead): Promise<ModelList> {
  return { object: 'list', data: listModelsOf(await listAvailableProviders(db, caller)).map(renderModel) };
}

export async function listRunnableModels({ db, caller }: ProjectRead): Promise<RunnableModelList> {
  return { data: listModelsOf(await listAvailableProviders(db, caller)).map(renderRunnableModel) };
}
