import { ApiError } from '../../../kernel/http/errors.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderCustomer } from './render-customer.ts';
import type { Customer, CustomerPath } from './schema.ts';
import { findCustomer } from './store.ts';

/** The customer as changes answer with it. Throws `not_found`. */
export async function readCustomer(request: { db: TenantDb; params: CustomerPath }): Promise<Customer> {
  const row = await findCustomer(request.db, request.params.cid);
  if (row === undefined) throw new ApiError('not_found');
  return renderCustomer(row);
}
