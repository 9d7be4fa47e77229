/** A new secret in place of the one that a webhook has, which stays valid for a while. */
import { type Vault, VaultError } from '../vault/vault.ts';
import { mintWebhookSecret, webhookSecretContext } from './webhook-secret.ts';

export interface SealedSecrets {
  readonly sealed_secret: string;
  readonly sealed_previous_secret: string | null;
  readonly previous_secret_expires_at: Date | null;
}

interface Rotation {
  readonly ownerId: string;
  readonly webhookId: string;
  readonly sealedSecret: string;
  /** 0 ends the old secret at once. */
  readonly graceSeconds: number;
  readonly now: Date;
}

/** A further rotation within the grace ends the oldest secret: two are valid at most. */
export function rotateSecret(
  vault: Vault,
  { ownerId, webhookId, sealedSecret, graceSeconds, now }: Rotation,
): { readonly secret: string; readonly sealed: SealedSecrets } {
  const context = (which: 'current' | 'previous') => webhookSecretContext(ownerId, webhookId, which);
  const previous = graceSeconds === 0 ? undefined : openSecret(() => vault.open(sealedSecret, context('current')));
  const secret = mintWebhookSecret();
  const sealed = {
    sealed_secret: vault.seal(secret, context('current')),
    sealed_previous_secret: previous === undefined ? null : vault.seal(previous, context('previous')),
    previous_secret_expires_at: previous === undefined ? null : new Date(now.getTime() + graceSeconds * 1_000),
  };
  return { secret, sealed };
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
