import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { project } from '../../access/operation.ts';
import { createCustomer } from './create-customer.ts';
import { deleteCustomer } from './delete-customer.ts';
import { getCustomer } from './get-customer.ts';
import { listCustomers } from './list-customers.ts';
import { Customer, CustomerCreate, CustomerDetail, CustomerPatch, CustomerPath } from './schema.ts';
import { updateCustomer } from './update-customer.ts';

export function customerOperations() {
  return [
    project.change({
      id: 'customers.create',
      method: 'POST',
      path: '/v1/customers',
      posture: 'tenant',
      scope: 'customers:write',
      summary: 'Create a customer',
      status: 201,
      body: CustomerCreate,
      example: { name: 'Acme', external_ids: { crm: '17' } },
      reply: Customer,
      errors: ['name_required', 'invalid_name'],
      handler: createCustomer,
    }),
    project.read({
      id: 'customers.list',
      method: 'GET',
      path: '/v1/customers',
      posture: 'tenant',
      scope: 'customers:read',
      summary: 'List customers, newest first',
      query: Type.Object(pageQuery),
      reply: pageOf(Customer),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listCustomers,
    }),
    project.read({
      id: 'customers.get',
      method: 'GET',
      path: '/v1/customers/{cid}',
      posture: 'tenant',
      scope: 'customers:read',
      summary: 'Get a customer',
      description: 'With its usage of this month, and its budgets.',
      params: CustomerPath,
      reply: CustomerDetail,
      handler: getCustomer,
    }),
    project.change({
      id: 'customers.update',
      method: 'PATCH',
      path: '/v1/customers/{cid}',
      posture: 'tenant',
      scope: 'customers:write',
      summary: 'Change a customer',
      description:
        'Changes the members that are given. Null empties `external_ids` and `metadata`, and leaves `name` as it is.',
      params: CustomerPath,
      body: CustomerPatch,
      example: { name: 'Acme Ltd' },
      reply: Customer,
      errors: ['nothing_to_update', 'invalid_name'],
      handler: updateCustomer,
    }),
    project.change({
      id: 'customers.delete',
      method: 'DELETE',
      path: '/v1/customers/{cid}',
      posture: 'tenant',
      scope: 'customers:write',
      summary: 'Delete a customer',
      description: 'Its smiths stay, and belong to no customer from then on.',
      params: CustomerPath,
      handler: deleteCustomer,
    }),
  ];
}
