import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { mintWebhookSecret, webhookSecretContext } from '../../../kernel/webhooks/webhook-secret.ts';
import { appendEvent } from '../../events/index.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { checkSelectors } from './check-webhook.ts';
import { renderWebhook } from './render-webhook.ts';
import type { WebhookCreate, WebhookWithSecret } from './schema.ts';
import { countWebhooks, insertWebhook } from './store.ts';

/** Every event is matched against each of them. */
const WEBHOOKS_MAX = 20;

export function createWebhook({ vault }: { readonly vault: Vault }) {
  return async ({ tx, caller, body }: WorkspaceChange<{ body: WebhookCreate }>): Promise<WebhookWithSecret> => {
    const { url, events = [] } = body;
    checkSelectors(events);
    const db = workspaceDb(tx, caller.workspaceId);
    if ((await countWebhooks(db)) >= WEBHOOKS_MAX) {
      throw new ApiError('bad_request', {
        message: `A workspace has at most ${WEBHOOKS_MAX} webhooks. Delete one, or let one take several families.`,
      });
    }
    const id = mintId('whk');
    const secret = mintWebhookSecret();
    // Before the row is there: it is not told of itself.
    await appendEvent(tx, caller.workspaceId, { type: 'webhook.created', data: { webhook_id: id, url, events } });
    const sealed = vault.seal(secret, webhookSecretContext(caller.workspaceId, id, 'current'));
    return { ...renderWebhook(await insertWebhook(db, { id, url, events, sealed_secret: sealed })), secret };
  };
}
