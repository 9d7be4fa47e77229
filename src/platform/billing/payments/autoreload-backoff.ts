/** How automatic reloads go on after one of them has ended: at once, or later and later where the card is declined. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Transaction } from '../../../kernel/db/database.ts';

/** The wait after each decline in a row; the last one after all that follow. */
const WAITS_MS = [1, 6, 24, 72].map((hours) => hours * 3_600_000);

/** `failure`: why it was declined; null: it succeeded. */
export async function noteAutoreload(
  tx: Transaction,
  clock: Clock,
  organizationId: string,
  failure: string | null,
): Promise<void> {
  if (failure === null) {
    await tx.query({
      text: `update wallets set autoreload_declines = 0, autoreload_failure = null, autoreload_next_at = null
             where organization_id = $1 and autoreload_declines > 0`,
      values: [organizationId],
    });
    return;
  }
  await tx.query({
    text: `
      update wallets set autoreload_declines = autoreload_declines + 1, autoreload_failure = $2,
        autoreload_next_at = ($3::timestamptz[])[least(autoreload_declines + 1, ${WAITS_MS.length})], updated_at = now()
      where organization_id = $1`,
    values: [organizationId, failure, WAITS_MS.map((waitMs) => new Date(clock.now().getTime() + waitMs))],
  });
}
