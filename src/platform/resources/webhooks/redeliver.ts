import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { DELIVERIES_CHANNEL } from '../../webhooks/index.ts';
import type { WebhookDependencies } from './dependencies.ts';
import { renderDelivery } from './render-webhook.ts';
import type { Delivery, DeliveryPath } from './schema.ts';
import { findWebhook, listAttempts, restartDelivery } from './store.ts';

export function redeliver({ clock }: Pick<WebhookDependencies, 'clock'>) {
  return async ({ tx, params }: ProjectChange<{ params: DeliveryPath }>): Promise<Delivery> => {
    if ((await findWebhook(tx, params.wid)) === undefined) throw new ApiError('not_found');
    const row = await restartDelivery(tx, params.wid, params.did, clock.now());
    if (row === undefined) throw new ApiError('not_found');
    await tx.notify(DELIVERIES_CHANNEL, '');
    return renderDelivery(row, await listAttempts(tx, [row.id]));
  };
}
