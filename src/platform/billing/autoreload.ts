/** What an organization has set of its automatic reload, and how it goes. */
import type { Executor } from '../../kernel/db/database.ts';

export interface Autoreload {
  readonly enabled: boolean;
  readonly threshold_cents: number;
  readonly amount_cents: number;
  /** Until when it waits after a decline. */
  readonly paused_until: Date | null;
  readonly last_failure: string | null;
}

const COLUMNS = `autoreload_enabled as enabled, autoreload_threshold_cents as threshold_cents,
  autoreload_amount_cents as amount_cents, autoreload_next_at as paused_until, autoreload_failure as last_failure`;

export async function readAutoreload(executor: Executor, organizationId: string): Promise<Autoreload> {
  const { rows } = await executor.query<Autoreload>({
    text: `select ${COLUMNS} from wallets where organization_id = $1`,
    values: [organizationId],
  });
  return only(rows, organizationId);
}

/** Undefined is left as it is. What was declined before is tried again. */
export async function updateAutoreload(
  tx: Executor,
  organizationId: string,
  change: {
    readonly enabled: boolean;
    readonly thresholdCents: number | undefined;
    readonly amountCents: number | undefined;
  },
): Promise<Autoreload> {
  const { rows } = await tx.query<Autoreload>({
    text: `
      update wallets set autoreload_enabled = $2, autoreload_threshold_cents = coalesce($3, autoreload_threshold_cents),
        autoreload_amount_cents = coalesce($4, autoreload_amount_cents), autoreload_declines = 0,
        autoreload_failure = null, autoreload_next_at = null, updated_at = now()
      where organization_id = $1 returning ${COLUMNS}`,
    values: [organizationId, change.enabled, change.thresholdCents ?? null, change.amountCents ?? null],
  });
  return only(rows, organizationId);
}

function only(rows: readonly Autoreload[], organizationId: string): Autoreload {
  const row = rows[0];
  if (row === undefined) throw new Error(`the organization ${organizationId} has no wallet`);
  return row;
}
