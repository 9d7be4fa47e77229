import { appendEvent } from '../../events/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { noSuchWebhook } from './render-webhook.ts';
import type { WebhookPath } from './schema.ts';
import { removeWebhook } from './store.ts';

export async function deleteWebhook({ tx, caller, params }: WorkspaceChange<{ params: WebhookPath }>) {
  const { webhook_id } = params;
  if (!(await removeWebhook(workspaceDb(tx, caller.workspaceId), webhook_id))) throw noSuchWebhook();
  await appendEvent(tx, caller.workspaceId, { type: 'webhook.deleted', data: { webhook_id } });
  return { deleted: true as const, id: webhook_id };
}
