import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { findModel, type ModelInfo, parseModelId } from '../../models/index.ts';
import { listAvailableProviders } from './available-models.ts';
import { renderModel } from './render-model.ts';
import type { Model, ModelPath } from './schema.ts';

/** Whatever a run of this caller's would accept, listed or not: providers publish models faster than catalogues follow. */
export async function getModel({ db, caller, params }: ProjectRead<{ params: ModelPath }>): Promise<Model> {
  const model = findNamed(params.model);
  if (!(await listAvailableProviders(db, caller)).has(model.provider)) {
    throw new ApiError('not_found', {
      param: 'model',
      message: `There is no key for the provider ${model.provider}. Save one with PUT /v1/tenant/model_keys/${model.provider}.`,
    });
  }
  return renderModel(model);
}

function findNamed(name: string): ModelInfo {
  try {
    const { provider, model } = parseModelId(name);
    const found = findModel(`${provider}/${model}`);
    if (found !== undefined) return found;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError('not_found', { param: 'model', message: error.message });
  }
  throw new ApiError('not_found', { param: 'model' });
}
