/** Endpoints that fail: since when, and the pause of one that nothing has reached for days. */
import type { Database, Transaction } from '../db/database.ts';
import type { WebhookTables } from './delivery-store.ts';

/** An endpoint that has taken nothing for so long is paused. */
const PAUSED_AFTER_MS = 5 * 24 * 60 * 60_000;

export interface EndpointReport {
  readonly ownerId: string;
  readonly webhookId: string;
  readonly failingSince: Date | null;
  readonly hasMissed: boolean;
  readonly at: Date;
}

/** Tells the feed, in the transaction that pauses the endpoint. */
export type OnPaused = (tx: Transaction, ownerId: string, webhookId: string) => Promise<void>;

/** Writes only where the state changes. */
export async function noteEndpointHealth(
  db: Database,
  { schema, owner }: WebhookTables,
  { ownerId, webhookId, failingSince, hasMissed, at }: EndpointReport,
  onPaused: OnPaused,
): Promise<void> {
  const row = `${owner} = $1 and id = $2`;
  if (!hasMissed) {
    if (failingSince === null) return;
    await db.query({
      text: `update ${schema}webhooks set failing_since = null where ${row}`,
      values: [ownerId, webhookId],
    });
    return;
  }
  if (failingSince === null) {
    await db.query({
      text: `update ${schema}webhooks set failing_since = $3 where ${row} and failing_since is null`,
      values: [ownerId, webhookId, at],
    });
    return;
  }
  if (at.getTime() - failingSince.getTime() < PAUSED_AFTER_MS) return;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query({
      text: `
        update ${schema}webhooks set active = false, paused_reason = 'failing', updated_at = $3
        where ${row} and active and failing_since <= $4`,
      values: [ownerId, webhookId, at, new Date(at.getTime() - PAUSED_AFTER_MS)],
    });
    if (rowCount > 0) await onPaused(tx, ownerId, webhookId);
  });
}
