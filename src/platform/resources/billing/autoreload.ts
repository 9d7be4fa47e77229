import type { OrganizationChange, OrganizationRead } from '../../access/operation.ts';
import { type Autoreload, readAutoreload, updateAutoreload } from '../../billing/index.ts';
import type { AutoreloadIn, AutoreloadOut } from './schema.ts';

export async function getAutoreload({ db, caller }: OrganizationRead): Promise<AutoreloadOut> {
  return render(await readAutoreload(db, caller.organizationId));
}

export async function putAutoreload({
  tx,
  caller,
  body,
}: OrganizationChange<{ body: AutoreloadIn }>): Promise<AutoreloadOut> {
  const { enabled, threshold_cents: thresholdCents, amount_cents: amountCents } = body;
  return render(await updateAutoreload(tx, caller.organizationId, { enabled, thresholdCents, amountCents }));
}

function render({ paused_until, ...autoreload }: Autoreload): AutoreloadOut {
  return { ...autoreload, paused_until: paused_until?.toISOString() ?? null };
}
