/** A new secret in place of the one that a webhook has. Those that it had stay valid for a while. */
import { type Vault, VaultError } from '../vault/vault.ts';
import {
  openCurrentSecret,
  openEarlierSecrets,
  openPreviousSecret,
  type SealedSecrets,
  type SecretsOwner,
  sealSecrets,
} from './sealed-secrets.ts';
import { mintWebhookSecret } from './webhook-secret.ts';

interface Rotation extends SecretsOwner {
  readonly held: SealedSecrets;
  /** Of the secret that is replaced; 0 ends it at once, and every one before it. */
  readonly graceSeconds: number;
  readonly now: Date;
}

/** Valid beside the new one: each is a signature of every delivery. */
const MAX_REPLACED = 5;

/**
 * A rotation shortens no grace of an earlier one: the secret that is replaced is valid for `graceSeconds`, and those before
 * it until the time that was promised for each. They are five at most: of more, the one that ends first goes before its
 * time, but never the one that is being replaced. A grace of 0 ends them all, as whoever asks for it has lost a secret.
 */
export function rotateSecret(
  vault: Vault,
  { ownerId, webhookId, held, graceSeconds, now }: Rotation,
): { readonly secret: string; readonly sealed: SealedSecrets } {
  const owner = { ownerId, webhookId };
  const secret = mintWebhookSecret();
  if (graceSeconds === 0) {
    return { secret, sealed: sealSecrets(vault, owner, { secret, previous: undefined, earlier: [] }) };
  }
  const expiresAt = new Date(now.getTime() + graceSeconds * 1_000);
  const [previous] = unlessLost(() => [{ secret: openCurrentSecret(vault, owner, held), expiresAt }]);
  const earlier = [
    ...unlessLost(() => openPreviousSecret(vault, owner, held, now)),
    ...unlessLost(() => openEarlierSecrets(vault, owner, held, now)),
  ]
    .sort((one, other) => other.expiresAt.getTime() - one.expiresAt.getTime())
    .slice(0, previous === undefined ? MAX_REPLACED : MAX_REPLACED - 1);
  return { secret, sealed: sealSecrets(vault, owner, { secret, previous, earlier }) };
}

/** None where the master key that sealed them is lost: rotating is how such a webhook is mended. */
function unlessLost<Secret>(open: () => Secret[]): Secret[] {
  try {
    return open();
  } catch (error) {
    if (error instanceof VaultError) return [];
    throw error;
  }
}
