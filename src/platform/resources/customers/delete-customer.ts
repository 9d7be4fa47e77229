import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import type { CustomerPath } from './schema.ts';
import { removeCustomer } from './store.ts';

export async function deleteCustomer({ tx, params }: ProjectChange<{ params: CustomerPath }>): Promise<void> {
  if (!(await removeCustomer(tx, params.cid))) throw new ApiError('not_found');
}
