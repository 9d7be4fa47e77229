/** Endpoints that fail: since when, and the pause of one that nothing has reached for days. */
import type { Database } from '../../kernel/db/database.ts';
import { appendEvent } from '../feed/append-event.ts';
import { TenantDatabase } from '../store/tenant-db.ts';

/** An endpoint that has taken nothing for so long is paused. */
const PAUSED_AFTER_MS = 5 * 24 * 60 * 60_000;

export interface EndpointReport {
  readonly projectId: string;
  readonly webhookId: string;
  readonly failingSince: Date | null;
  readonly hasMissed: boolean;
  readonly at: Date;
}

/** Writes only where the state changes. */
export async function noteEndpointHealth(db: Database, report: EndpointReport): Promise<void> {
  const { projectId, webhookId, failingSince, hasMissed, at } = report;
  const home = new TenantDatabase(db, projectId);
  if (!hasMissed) {
    if (failingSince === null) return;
    await home.raw({
      text: 'update webhooks set failing_since = null where project_id = $1 and id = $2',
      values: [webhookId],
    });
    return;
  }
  if (failingSince === null) {
    await home.raw({
      text: `update webhooks set failing_since = $3 where project_id = $1 and id = $2 and failing_since is null`,
      values: [webhookId, at],
    });
    return;
  }
  if (at.getTime() - failingSince.getTime() >= PAUSED_AFTER_MS) await pause(home, webhookId, at);
}

async function pause(home: TenantDatabase, webhookId: string, at: Date): Promise<void> {
  await home.transaction(async (tx) => {
    const { rowCount } = await tx.raw({
      text: `
        update webhooks set active = false, paused_reason = 'failing', updated_at = $3
        where project_id = $1 and id = $2 and active and failing_since <= $4`,
      values: [webhookId, at, new Date(at.getTime() - PAUSED_AFTER_MS)],
    });
    if (rowCount === 0) return;
    await appendEvent(tx, {
      type: 'webhook.updated',
      // Nobody's doing: the project's own.
      actor: { kind: 'tenant', id: home.projectId, token_id: '', email: '' },
      data: {
        webhook_id: webhookId,
        changed: ['active'],
        secret_rotated: false,
        previous_secret_expires_at: null,
        paused_reason: 'failing',
      },
    });
  });
}
