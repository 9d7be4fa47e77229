import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { readCustomer } from './read-customer.ts';
import type { Customer, CustomerPatch, CustomerPath } from './schema.ts';
import { updateCustomer as updateRow } from './store.ts';

export async function updateCustomer({
  tx,
  params,
  body,
}: ProjectChange<{ params: CustomerPath; body: CustomerPatch }>): Promise<Customer> {
  if (Object.keys(body).length === 0) throw new ApiError('nothing_to_update');
  const change = {
    // A customer has a name: null leaves it as it is.
    ...(body.name == null ? {} : { name: body.name }),
    ...(body.external_ids === undefined ? {} : { external_ids: body.external_ids ?? {} }),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata ?? {} }),
  };
  if (Object.keys(change).length > 0 && !(await updateRow(tx, params.cid, change))) throw new ApiError('not_found');
  return readCustomer({ db: tx, params });
}
