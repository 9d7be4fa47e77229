import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { checkSelectors } from './check-webhook.ts';
import { renderWebhook } from './render-webhook.ts';
import type { Webhook, WebhookPatch, WebhookPath } from './schema.ts';
import { findWebhook, holdWebhook, updateWebhook as updateRow } from './store.ts';

export async function updateWebhook({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: WebhookPath; body: WebhookPatch }>): Promise<Webhook> {
  const changed = Object.keys(body);
  if (changed.length === 0) throw new ApiError('empty_patch');
  if (body.events !== undefined) checkSelectors(body.events);
  if ((await holdWebhook(tx, params.wid)) === undefined) throw new ApiError('not_found');
  await updateRow(tx, params.wid, body);
  await appendEvent(tx, {
    type: 'webhook.updated',
    actor: actorOf(caller),
    data: { webhook_id: params.wid, changed, secret_rotated: false, previous_secret_expires_at: null },
  });
  const row = await findWebhook(tx, params.wid);
  if (row === undefined) throw new Error('a webhook that was held is gone');
  return renderWebhook(row);
}
