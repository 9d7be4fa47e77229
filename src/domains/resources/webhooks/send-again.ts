import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { appendEvent, DELIVERIES_CHANNEL, insertDelivery } from '../../events/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { noSuchWebhook, renderDelivery } from './render-webhook.ts';
import type { Delivery, DeliveryPath, WebhookPath } from './schema.ts';
import { findWebhook, restartDelivery } from './store.ts';

/** The webhook gets the event whatever it subscribes to, and others that subscribe to it, too. */
export async function testWebhook({ tx, caller, params }: WorkspaceChange<{ params: WebhookPath }>) {
  const { workspaceId } = caller;
  const db = workspaceDb(tx, workspaceId);
  const webhookId = params.webhook_id;
  if ((await findWebhook(db, webhookId)) === undefined) throw noSuchWebhook();
  const data = { webhook_id: webhookId, message: 'This is a test: the endpoint takes events.' };
  const eventId = await appendEvent(tx, workspaceId, { type: 'webhook.test', data });
  await insertDelivery(tx, workspaceId, { webhookId, eventId, type: 'webhook.test' });
  const { id } = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('event_id', '=', eventId)
    .executeTakeFirstOrThrow();
  return { event_id: eventId, delivery_id: id };
}

export function redeliver({ clock }: { readonly clock: Clock }) {
  return async ({ tx, caller, params }: WorkspaceChange<{ params: DeliveryPath }>): Promise<Delivery> => {
    const db = workspaceDb(tx, caller.workspaceId);
    if ((await findWebhook(db, params.webhook_id)) === undefined) throw noSuchWebhook();
    const row = await restartDelivery(db, params.webhook_id, params.delivery_id, clock.now());
    if (row === undefined) {
      throw new ApiError('not_found', {
        message: 'The webhook has no such delivery. GET /webhooks/{webhook_id}/deliveries lists what it has.',
      });
    }
    tx.wake(DELIVERIES_CHANNEL);
    return renderDelivery(row);
  };
}
