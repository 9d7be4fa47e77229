import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { getCustomer } from './get-customer.ts';
import type { Customer, CustomerPatch, CustomerPath } from './schema.ts';
import { updateCustomer as updateRow } from './store.ts';

export async function updateCustomer({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: CustomerPath; body: CustomerPatch }>): Promise<Customer> {
  if (Object.keys(body).length === 0) throw new ApiError('nothing_to_update');
  if (body.name === null) throw new ApiError('name_required', { param: 'name' });
  const found = await updateRow(tx, params.cid, {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.external_ids === undefined ? {} : { external_ids: body.external_ids ?? {} }),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata ?? {} }),
  });
  if (!found) throw new ApiError('not_found');
  return getCustomer({ db: tx, caller, params });
}
