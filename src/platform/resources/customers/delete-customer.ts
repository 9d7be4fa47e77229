import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { CustomerPath } from './schema.ts';
import { removeCustomer } from './store.ts';

export async function deleteCustomer({ tx, caller, params }: ProjectChange<{ params: CustomerPath }>): Promise<void> {
  if (!(await removeCustomer(tenantDb(tx, caller.projectId), params.cid))) throw new ApiError('not_found');
}
