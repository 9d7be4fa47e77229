import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { removeSuppression } from '../../channels/index.ts';
import { requireAddress } from './require-address.ts';
import type { SuppressionQuery } from './schema.ts';

export async function deleteSuppression({ tx, query }: ProjectChange<{ query: SuppressionQuery }>): Promise<void> {
  if (!(await removeSuppression(tx, requireAddress(query.address ?? '')))) throw new ApiError('not_found');
}
