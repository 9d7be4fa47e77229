import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { rotateSecret } from '../../../kernel/webhooks/rotate-secret.ts';
import { appendEvent } from '../../events/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { noSuchWebhook, renderWebhook } from './render-webhook.ts';
import { graceSecondsOf, type SecretRotation, type WebhookPath, type WebhookWithSecret } from './schema.ts';
import { lockWebhook, updateWebhook } from './store.ts';

export function rotateWebhookSecret({ vault, clock }: { readonly vault: Vault; readonly clock: Clock }) {
  return async ({
    tx,
    caller,
    params,
    body,
  }: WorkspaceChange<{ params: WebhookPath; body: SecretRotation | undefined }>): Promise<WebhookWithSecret> => {
    const { webhook_id } = params;
    const db = workspaceDb(tx, caller.workspaceId);
    const held = await lockWebhook(db, webhook_id);
    if (held === undefined) throw noSuchWebhook();
    const { secret, sealed } = rotateSecret(vault, {
      ownerId: caller.workspaceId,
      webhookId: webhook_id,
      held,
      graceSeconds: graceSecondsOf(body),
      now: clock.now(),
    });
    const row = await updateWebhook(db, webhook_id, sealed);
    const data = { webhook_id, changed: [], secret_rotated: true };
    await appendEvent(tx, caller.workspaceId, { type: 'webhook.updated', data });
    return { ...renderWebhook(row), secret };
  };
}
