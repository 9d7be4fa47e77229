import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { renderCustomer } from './render-customer.ts';
import type { Customer, CustomerPath } from './schema.ts';
import { findCustomer } from './store.ts';

export async function getCustomer(request: {
  db: Executor;
  caller: ProjectCaller;
  params: CustomerPath;
}): Promise<Customer> {
  const row = await findCustomer(tenantDb(request.db, request.caller.projectId), request.params.cid);
  if (row === undefined) throw new ApiError('not_found');
  return renderCustomer(row);
}
