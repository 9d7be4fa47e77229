import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { DELIVERIES_CHANNEL } from '../../webhooks/index.ts';
import type { WebhookDependencies } from './dependencies.ts';
import type { WebhookPath } from './schema.ts';
import { findWebhook, insertDelivery } from './store.ts';

/** The webhook gets the event whatever it subscribes to, and others that subscribe to it, too. */
export function testWebhook({ clock }: Pick<WebhookDependencies, 'clock'>) {
  return async ({ tx, caller, params }: ProjectChange<{ params: WebhookPath }>) => {
    if ((await findWebhook(tx, params.wid)) === undefined) throw new ApiError('not_found');
    const eventId = await appendEvent(tx, {
      type: 'webhook.test',
      actor: actorOf(caller),
      data: { webhook_id: params.wid, message: 'This is a test: the endpoint takes events.' },
    });
    const id = mintId('whd');
    await insertDelivery(tx, { id, webhookId: params.wid, eventId, eventType: 'webhook.test', at: clock.now() });
    await tx.notify(DELIVERIES_CHANNEL, '');
    return { event_id: eventId, delivery_id: id };
  };
}
