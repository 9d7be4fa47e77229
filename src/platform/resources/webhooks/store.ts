/** Rows of webhooks and deliveries. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { SealedSecrets } from '../../../kernel/webhooks/sealed-secrets.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

const WEBHOOK_COLUMNS = [
  'id',
  'url',
  'events',
  'active',
  'failing_since',
  'paused_reason',
  'previous_secret_expires_at',
  'created_at',
  'updated_at',
] as const;

const DELIVERY_COLUMNS = [
  'id',
  'webhook_id',
  'event_id',
  'event_type',
  'status',
  'attempt_count',
  'last_http_status',
  'last_error',
  'next_attempt_at',
  'created_at',
  'updated_at',
] as const;

/** Shown of one delivery, which redeliveries can make any number of. */
const ATTEMPTS_SHOWN = 20;

/** Without the sealed secrets. */
export type WebhookRow = Pick<Selectable<TenantTables['webhooks']>, (typeof WEBHOOK_COLUMNS)[number]>;
export type DeliveryRow = Pick<Selectable<TenantTables['webhook_deliveries']>, (typeof DELIVERY_COLUMNS)[number]>;
export type AttemptRow = Omit<Selectable<TenantTables['webhook_attempts']>, 'project_id'>;

export interface NewWebhook {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly sealed_secret: string;
}

/** Undefined members stay as they are. */
export interface WebhookChange {
  readonly url?: string;
  readonly events?: string[];
  readonly active?: boolean;
}

export async function countWebhooks(db: TenantDb): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: 'select count(*)::int as count from webhooks where project_id = $1',
  });
  return rows[0]?.count ?? 0;
}

export async function insertWebhook(db: TenantDb, webhook: NewWebhook): Promise<void> {
  await db.insertInto('webhooks').values(webhook).execute();
}

export async function listWebhooks(db: TenantDb, page: PageRequest): Promise<WebhookRow[]> {
  return pageById(db.selectFrom('webhooks').select(WEBHOOK_COLUMNS), 'webhooks.id', page).execute();
}

export async function findWebhook(db: TenantDb, id: string): Promise<WebhookRow | undefined> {
  return db.selectFrom('webhooks').select(WEBHOOK_COLUMNS).where('id', '=', id).executeTakeFirst();
}

/** The secrets of the webhook; nobody else changes the row until the transaction ends. */
export async function holdWebhook(db: TenantDb, id: string): Promise<SealedSecrets | undefined> {
  return db
    .selectFrom('webhooks')
    .select(['sealed_secret', 'sealed_previous_secret', 'previous_secret_expires_at', 'sealed_earlier_secrets'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** A webhook that is switched on begins anew. */
export async function updateWebhook(db: TenantDb, id: string, change: WebhookChange): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({
      ...change,
      ...(change.active === true && { paused_reason: null, failing_since: null }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .execute();
}

export async function replaceSecrets(db: TenantDb, id: string, secrets: SealedSecrets): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ ...secrets, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/** Its deliveries are sent no more; a sweep removes them. False when there is no such webhook. */
export async function removeWebhook(db: TenantDb, id: string): Promise<boolean> {
  const result = await db.deleteFrom('webhooks').where('id', '=', id).executeTakeFirst();
  return result.numDeletedRows > 0n;
}

export interface NewDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly at: Date;
}

export async function insertDelivery(db: TenantDb, delivery: NewDelivery): Promise<void> {
  const { id, webhookId, eventId, eventType, at } = delivery;
  await db
    .insertInto('webhook_deliveries')
    .values({
      id,
      webhook_id: webhookId,
      event_id: eventId,
      event_type: eventType,
      last_http_status: null,
      last_error: null,
      next_attempt_at: at,
      created_at: at,
      updated_at: at,
    })
    .execute();
}

/** Up to one row more than the page holds, newest first. */
export async function listDeliveries(
  db: TenantDb,
  webhookId: string,
  status: DeliveryRow['status'] | undefined,
  page: PageRequest,
): Promise<DeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').select(DELIVERY_COLUMNS).where('webhook_id', '=', webhookId);
  if (status !== undefined) query = query.where('status', '=', status);
  return pageById(query, 'webhook_deliveries.id', page).execute();
}

/** The latest attempts of each of these deliveries, in order. */
export async function listAttempts(db: TenantDb, deliveryIds: readonly string[]): Promise<AttemptRow[]> {
  const { rows } = await db.raw<AttemptRow>({
    text: `
      select a.delivery_id, a.number, a.at, a.duration_ms, a.http_status, a.error
      from unnest($2::text[]) as d (id)
      cross join lateral (
        select * from webhook_attempts where project_id = $1 and delivery_id = d.id
        order by number desc limit ${ATTEMPTS_SHOWN}
      ) a
      order by a.delivery_id, a.number`,
    values: [deliveryIds],
  });
  return rows;
}

/** Begins the delivery anew, whatever became of it. Undefined when the webhook has no such delivery. */
export async function restartDelivery(
  db: TenantDb,
  webhookId: string,
  id: string,
  at: Date,
): Promise<DeliveryRow | undefined> {
  return db
    .updateTable('webhook_deliveries')
    .set({
      status: 'pending',
      round: sql<number>`round + 1`,
      misses: 0,
      next_attempt_at: at,
      updated_at: at,
    })
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .returning(DELIVERY_COLUMNS)
    .executeTakeFirst();
}
