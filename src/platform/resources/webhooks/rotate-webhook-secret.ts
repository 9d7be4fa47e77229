import { ApiError } from '../../../kernel/http/errors.ts';
import { rotateSecret } from '../../../kernel/webhooks/rotate-secret.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { WebhookDependencies } from './dependencies.ts';
import { graceSecondsOf, type RotateIn, type WebhookPath } from './schema.ts';
import { holdWebhook, replaceSecrets } from './store.ts';

export function rotateWebhookSecret({ vault, clock }: Pick<WebhookDependencies, 'vault' | 'clock'>) {
  return async ({ tx, caller, params, body }: ProjectChange<{ params: WebhookPath; body: RotateIn | undefined }>) => {
    const { wid } = params;
    const held = await holdWebhook(tx, wid);
    if (held === undefined) throw new ApiError('not_found');
    const { secret, sealed } = rotateSecret(vault, {
      ownerId: caller.projectId,
      webhookId: wid,
      held,
      graceSeconds: graceSecondsOf(body),
      now: clock.now(),
    });
    await replaceSecrets(tx, wid, sealed);
    const previousExpires = sealed.previous_secret_expires_at?.toISOString() ?? null;
    await appendEvent(tx, {
      type: 'webhook.updated',
      actor: actorOf(caller),
      data: { webhook_id: wid, changed: [], secret_rotated: true, previous_secret_expires_at: previousExpires },
    });
    return { id: wid, secret, previous_secret_expires_at: previousExpires };
  };
}
