import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { mintWebhookSecret, webhookSecretContext } from '../../../kernel/webhooks/webhook-secret.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { checkSelectors } from './check-webhook.ts';
import type { WebhookDependencies } from './dependencies.ts';
import type { WebhookIn } from './schema.ts';
import { countWebhooks, insertWebhook } from './store.ts';

/** Every event is matched against each of them. */
const WEBHOOKS_MAX = 100;

export function createWebhook({ vault }: Pick<WebhookDependencies, 'vault'>) {
  return async ({ tx, caller, body }: ProjectChange<{ body: WebhookIn }>) => {
    const events = body.events ?? [];
    checkSelectors(events);
    if ((await countWebhooks(tx)) >= WEBHOOKS_MAX) {
      throw new ApiError('invalid_request', {
        message: `A project has at most ${WEBHOOKS_MAX} webhooks. Delete one, or let one endpoint take several families.`,
      });
    }
    const id = mintId('whk');
    const secret = mintWebhookSecret();
    await insertWebhook(tx, {
      id,
      url: body.url,
      events,
      sealed_secret: vault.seal(secret, webhookSecretContext(caller.projectId, id, 'current')),
    });
    await appendEvent(tx, {
      type: 'webhook.created',
      actor: actorOf(caller),
      data: { webhook_id: id, url: body.url, events, active: true },
    });
    return { id, secret };
  };
}
