import { ApiError } from '../../../kernel/http/errors.ts';
import { VaultError } from '../../../kernel/vault/vault.ts';
import { mintWebhookSecret, webhookSecretContext } from '../../../kernel/webhooks/webhook-secret.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { WebhookDependencies } from './dependencies.ts';
import { graceSecondsOf, type RotateIn, type WebhookPath } from './schema.ts';
import { holdWebhook, replaceSecrets } from './store.ts';

/** A further rotation within the grace ends the oldest secret: two are valid at most. */
export function rotateWebhookSecret({ vault, clock }: Pick<WebhookDependencies, 'vault' | 'clock'>) {
  return async ({ tx, caller, params, body }: ProjectChange<{ params: WebhookPath; body: RotateIn | undefined }>) => {
    const { wid } = params;
    const webhook = await holdWebhook(tx, wid);
    if (webhook === undefined) throw new ApiError('not_found');
    const context = (which: 'current' | 'previous') => webhookSecretContext(caller.projectId, wid, which);
    const graceSeconds = graceSecondsOf(body);
    const previous =
      graceSeconds === 0 ? undefined : openSecret(() => vault.open(webhook.sealed_secret, context('current')));
    const expiresAt = previous === undefined ? null : new Date(clock.now().getTime() + graceSeconds * 1_000);
    const secret = mintWebhookSecret();
    await replaceSecrets(tx, wid, {
      sealed_secret: vault.seal(secret, context('current')),
      sealed_previous_secret: previous === undefined ? null : vault.seal(previous, context('previous')),
      previous_secret_expires_at: expiresAt,
    });
    const previousExpires = expiresAt?.toISOString() ?? null;
    await appendEvent(tx, {
      type: 'webhook.updated',
      actor: actorOf(caller),
      data: { webhook_id: wid, changed: [], secret_rotated: true, previous_secret_expires_at: previousExpires },
    });
    return { id: wid, secret, previous_secret_expires_at: previousExpires };
  };
}

/** Undefined where the master key that sealed it is lost: rotating is how such a webhook is mended. */
function openSecret(open: () => string): string | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}
