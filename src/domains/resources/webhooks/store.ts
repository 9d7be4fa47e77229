/** Rows of webhooks and deliveries, of one workspace. */
import { type Selectable, sql } from 'kysely';
import type { SealedSecrets } from '../../../kernel/webhooks/sealed-secrets.ts';
import type { WorkspaceTables } from '../../tables.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';

export type WebhookRow = Selectable<WorkspaceTables['webhooks']>;
export type DeliveryRow = Selectable<WorkspaceTables['webhook_deliveries']>;

export interface WebhookChange {
  readonly url?: string;
  readonly events?: string[];
  readonly active?: boolean;
}

/** Locked until the transaction ends: two cannot both be the last that fits. */
export async function countWebhooks(db: WorkspaceDb): Promise<number> {
  await db.selectFrom('wallets').select('workspace_id').forUpdate().execute();
  const { count } = await db
    .selectFrom('webhooks')
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

export async function insertWebhook(
  db: WorkspaceDb,
  webhook: Pick<WebhookRow, 'id' | 'url' | 'events' | 'sealed_secret'>,
): Promise<WebhookRow> {
  return db
    .insertInto('webhooks')
    .values({
      ...webhook,
      failing_since: null,
      paused_reason: null,
      sealed_previous_secret: null,
      previous_secret_expires_at: null,
      sealed_earlier_secrets: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findWebhook(db: WorkspaceDb, id: string): Promise<WebhookRow | undefined> {
  return db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst();
}

/** As `findWebhook`; nobody else changes the row until the transaction ends. */
export async function lockWebhook(db: WorkspaceDb, id: string): Promise<WebhookRow | undefined> {
  return db.selectFrom('webhooks').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Newest first, those older than `after`: ids are in the order in which they were made. */
export async function listWebhooks(db: WorkspaceDb, after: string | undefined, limit: number): Promise<WebhookRow[]> {
  const rows = db.selectFrom('webhooks').selectAll().orderBy('id', 'desc').limit(limit);
  return (after === undefined ? rows : rows.where('id', '<', after)).execute();
}

/** A webhook that is switched on begins anew. */
export async function updateWebhook(db: WorkspaceDb, id: string, change: WebhookChange | SealedSecrets) {
  const isSwitchedOn = 'active' in change && change.active === true;
  return db
    .updateTable('webhooks')
    .set({
      ...change,
      ...(isSwitchedOn ? { paused_reason: null, failing_since: null } : {}),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Its deliveries are sent no more; a sweep removes them. False when there is no such webhook. */
export async function removeWebhook(db: WorkspaceDb, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('webhooks').where('id', '=', id).executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

export async function listDeliveries(
  db: WorkspaceDb,
  webhookId: string,
  { after, limit, status }: { after: string | undefined; limit: number; status: DeliveryRow['status'] | undefined },
): Promise<DeliveryRow[]> {
  let rows = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  if (status !== undefined) rows = rows.where('status', '=', status);
  if (after !== undefined) rows = rows.where('id', '<', after);
  return rows.orderBy('id', 'desc').limit(limit).execute();
}

/** Begins the delivery anew, whatever became of it. Undefined when the webhook has no such delivery. */
export async function restartDelivery(
  db: WorkspaceDb,
  webhookId: string,
  id: string,
  at: Date,
): Promise<DeliveryRow | undefined> {
  return db
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', round: sql<number>`round + 1`, misses: 0, next_attempt_at: at, updated_at: at })
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}
