import type { ProjectRead } from '../../access/operation.ts';
import { listBudgetsOf } from '../../budgets/index.ts';
import { renderBudgetStatus } from '../budgets/index.ts';
import { readMonthOf } from '../usage/index.ts';
import { readCustomer } from './read-customer.ts';
import type { CustomerDetail, CustomerPath } from './schema.ts';

export async function getCustomer({ db, params }: ProjectRead<{ params: CustomerPath }>): Promise<CustomerDetail> {
  const [customer, usage, budgets] = await Promise.all([
    readCustomer({ db, params }),
    readMonthOf(db, { customer_id: params.cid }),
    listBudgetsOf(db, 'customer', params.cid),
  ]);
  return { ...customer, usage, budgets: budgets.map(renderBudgetStatus) };
}
