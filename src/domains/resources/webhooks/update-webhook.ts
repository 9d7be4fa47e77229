import { appendEvent, DELIVERIES_CHANNEL } from '../../events/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { checkSelectors } from './check-webhook.ts';
import { noSuchWebhook, renderWebhook } from './render-webhook.ts';
import type { Webhook, WebhookPath, WebhookUpdate } from './schema.ts';
import { lockWebhook, updateWebhook as updateRow } from './store.ts';

export async function updateWebhook({
  tx,
  caller,
  params,
  body,
}: WorkspaceChange<{ params: WebhookPath; body: WebhookUpdate }>): Promise<Webhook> {
  const { webhook_id } = params;
  if (body.events !== undefined) checkSelectors(body.events);
  const db = workspaceDb(tx, caller.workspaceId);
  const held = await lockWebhook(db, webhook_id);
  if (held === undefined) throw noSuchWebhook();
  const changed = Object.keys(body);
  if (changed.length === 0) return renderWebhook(held);
  const row = await updateRow(db, webhook_id, body);
  await appendEvent(tx, caller.workspaceId, { type: 'webhook.updated', data: { webhook_id, changed } });
  tx.wake(DELIVERIES_CHANNEL);
  return renderWebhook(row);
}
