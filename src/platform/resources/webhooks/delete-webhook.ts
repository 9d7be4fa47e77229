import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { WebhookPath } from './schema.ts';
import { removeWebhook } from './store.ts';

export async function deleteWebhook({ tx, caller, params }: ProjectChange<{ params: WebhookPath }>): Promise<void> {
  if (!(await removeWebhook(tx, params.wid))) throw new ApiError('not_found');
  await appendEvent(tx, { type: 'webhook.deleted', actor: actorOf(caller), data: { webhook_id: params.wid } });
}
