import type { IdempotencyClaim } from '../../../kernel/http/operation.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { type Billing, reloadWallet } from '../../billing/index.ts';
import type { ReloadIn, ReloadOut } from './schema.ts';

export function reload(billing: Billing) {
  return async ({
    caller,
    body,
    idempotency,
  }: OrganizationRead<{ body: ReloadIn }> & {
    readonly idempotency: IdempotencyClaim | undefined;
  }): Promise<ReloadOut> =>
    reloadWallet(billing, {
      organizationId: caller.organizationId,
      amountCents: body.amount_cents ?? undefined,
      currency: billing.currency,
      request: idempotency,
    });
}
