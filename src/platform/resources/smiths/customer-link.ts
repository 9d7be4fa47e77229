import { ApiError } from '../../../kernel/http/errors.ts';
import type { TenantDb } from '../../tenant-scope.ts';

/**
 * Whether the customer exists; if so it stays until the transaction ends. To be asked before a smith is held (see the
 * order of locks in agent-membership.ts).
 */
export async function holdCustomer(db: TenantDb, id: string): Promise<boolean> {
  const row = await db.selectFrom('customers').select('id').where('id', '=', id).forKeyShare().executeTakeFirst();
  return row !== undefined;
}

/** As `holdCustomer`; throws `not_found` (param `customer_id`). */
export async function requireCustomer(db: TenantDb, id: string): Promise<void> {
  if (await holdCustomer(db, id)) return;
  throw new ApiError('not_found', {
    param: 'customer_id',
    message: 'This project has no such customer. Take an id from `GET /v1/customers`.',
  });
}
