import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { noSuchWebhook, renderDelivery, renderWebhook } from './render-webhook.ts';
import type { DeliveryList, DeliveryQuery, Webhook, WebhookList, WebhookPath } from './schema.ts';
import { findWebhook, listDeliveries as listDeliveryRows, listWebhooks as listRows } from './store.ts';

export async function listWebhooks({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<WebhookList>> {
  const rows = await listRows(workspaceDb(db, caller.workspaceId), query.after, rowsOf(query));
  return listReply(query, rows, (shown, next_after) => ({ webhooks: shown.map(renderWebhook), next_after }));
}

export async function getWebhook({ caller, db, params }: WorkspaceRead<{ params: WebhookPath }>): Promise<Webhook> {
  const row = await findWebhook(workspaceDb(db, caller.workspaceId), params.webhook_id);
  if (row === undefined) throw noSuchWebhook();
  return renderWebhook(row);
}

export async function listDeliveries({
  caller,
  db,
  params,
  query,
}: WorkspaceRead<{ params: WebhookPath; query: DeliveryQuery }>): Promise<HttpReply<DeliveryList>> {
  const home = workspaceDb(db, caller.workspaceId);
  if ((await findWebhook(home, params.webhook_id)) === undefined) throw noSuchWebhook();
  const page = { after: query.after, status: query.status, limit: rowsOf(query) };
  const rows = await listDeliveryRows(home, params.webhook_id, page);
  return listReply(query, rows, (shown, next_after) => ({ deliveries: shown.map(renderDelivery), next_after }));
}
