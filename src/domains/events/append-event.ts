/**
 * Events of a workspace. `appendEvent` runs in the transaction of the change that it records, and writes what webhooks are to be sent
 * beside it: all of it commits, or none. An event never carries a secret.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { EventType } from './event-types.ts';

export interface NewEvent {
  readonly type: EventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The channel on which the dispatchers of all replicas are woken. */
export const DELIVERIES_CHANNEL = 'domains_webhook_deliveries';

/** Before any clock: what was never tried is due. */
const AT_ONCE = new Date(0);

/** Writes one event of the workspace, and a delivery for each webhook that selects it. Returns its id. */
export async function appendEvent(tx: Executor, workspaceId: string, event: NewEvent): Promise<string> {
  const [id = ''] = await appendEvents(tx, workspaceId, [event]);
  return id;
}

/** As `appendEvent`, of several that happen at once, in their order. */
export async function appendEvents(tx: Executor, workspaceId: string, events: readonly NewEvent[]): Promise<string[]> {
  const written = events.map((event) => ({ id: mintId('evt'), ...event }));
  const { rows } = await tx.query<{ event_id: string; type: EventType; webhook_id: string }>({
    text: `
      with event as (
        insert into domains.events (workspace_id, id, type, data)
        select $1, id, type, data from jsonb_to_recordset($2::jsonb) as event (id text, type text, data jsonb)
        returning id, type
      )
      select event.id as event_id, event.type, webhook.id as webhook_id
      from event join domains.webhooks webhook on webhook.workspace_id = $1
        and (webhook.events = '{}' or exists (select from unnest(webhook.events) as wanted (selector)
          where selector = event.type or starts_with(event.type, rtrim(selector, '.') || '.')))
      order by event.id`,
    values: [workspaceId, json(written)],
  });
  for (const { event_id: eventId, type, webhook_id: webhookId } of rows) {
    await insertDelivery(tx, workspaceId, { webhookId, eventId, type });
  }
  return written.map(({ id }) => id);
}

interface NewDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly type: EventType;
}

/** Has the event sent to the webhook; undefined where it is already. */
export async function insertDelivery(
  tx: Executor,
  workspaceId: string,
  { webhookId, eventId, type }: NewDelivery,
): Promise<string | undefined> {
  const id = mintId('whd');
  const { rowCount } = await tx.query({
    text: `
      insert into domains.webhook_deliveries (workspace_id, id, webhook_id, event_id, event_type, next_attempt_at)
      values ($1, $2, $3, $4, $5, $6) on conflict (workspace_id, webhook_id, event_id) do nothing`,
    values: [workspaceId, id, webhookId, eventId, type, AT_ONCE],
  });
  tx.wake(DELIVERIES_CHANNEL);
  return rowCount === 0 ? undefined : id;
}
