import type { OrganizationRead } from '../../access/operation.ts';
import { type Billing, readBalance } from '../../billing/index.ts';
import type { BalanceOut } from './schema.ts';

export function getBalance({ currency }: Pick<Billing, 'currency'>) {
  return async ({ db, caller }: OrganizationRead): Promise<BalanceOut> => {
    const wallet = await readBalance(db, caller.organizationId);
    return {
      currency: wallet.currency ?? currency,
      balance_cents: wallet.balance_cents,
      stripe_customer: wallet.stripe_customer_id !== null,
    };
  };
}
