import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { readCustomer } from './read-customer.ts';
import type { Customer, CustomerCreate } from './schema.ts';
import { insertCustomer } from './store.ts';

export async function createCustomer({ tx, body }: ProjectChange<{ body: CustomerCreate }>): Promise<Customer> {
  const id = mintId('cus');
  await insertCustomer(tx, {
    id,
    name: body.name,
    external_ids: body.external_ids ?? {},
    metadata: body.metadata ?? {},
  });
  return readCustomer({ db: tx, params: { cid: id } });
}
