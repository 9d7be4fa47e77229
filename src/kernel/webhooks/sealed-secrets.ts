/**
 * The secrets of a webhook as its row has them: the one that is in use, and those that it took the place of, which stay
 * valid until the time that was promised when they were replaced.
 */
import type { Vault } from '../vault/vault.ts';
import { webhookSecretContext } from './webhook-secret.ts';

export interface SealedSecrets {
  readonly sealed_secret: string;
  readonly sealed_previous_secret: string | null;
  readonly previous_secret_expires_at: Date | null;
  /** Those before the previous one with their ends, as one text; null: there are none. */
  readonly sealed_earlier_secrets: string | null;
}

/** Whose secrets they are; `ownerId`: of the project or the workspace. */
export interface SecretsOwner {
  readonly ownerId: string;
  readonly webhookId: string;
}

export interface ReplacedSecret {
  readonly secret: string;
  readonly expiresAt: Date;
}

interface OpenSecrets {
  readonly secret: string;
  readonly previous: ReplacedSecret | undefined;
  readonly earlier: readonly ReplacedSecret[];
}

export function sealSecrets(
  vault: Vault,
  { ownerId, webhookId }: SecretsOwner,
  { secret, previous, earlier }: OpenSecrets,
): SealedSecrets {
  const seal = (text: string, which: 'current' | 'previous' | 'earlier') =>
    vault.seal(text, webhookSecretContext(ownerId, webhookId, which));
  return {
    sealed_secret: seal(secret, 'current'),
    sealed_previous_secret: previous === undefined ? null : seal(previous.secret, 'previous'),
    previous_secret_expires_at: previous?.expiresAt ?? null,
    sealed_earlier_secrets: earlier.length === 0 ? null : seal(JSON.stringify(earlier.map(toStored)), 'earlier'),
  };
}

/** Those that sign at this time, the newest first. Throws VaultError where the master key that sealed one of them is lost. */
export function openActiveSecrets(vault: Vault, owner: SecretsOwner, sealed: SealedSecrets, at: Date): string[] {
  const replaced = [...openPreviousSecret(vault, owner, sealed, at), ...openEarlierSecrets(vault, owner, sealed, at)];
  return [openCurrentSecret(vault, owner, sealed), ...replaced.map(({ secret }) => secret)];
}

/** Throws VaultError, as the next two do. */
export function openCurrentSecret(vault: Vault, { ownerId, webhookId }: SecretsOwner, sealed: SealedSecrets): string {
  return vault.open(sealed.sealed_secret, webhookSecretContext(ownerId, webhookId, 'current'));
}

/** None where it has ended. */
export function openPreviousSecret(
  vault: Vault,
  { ownerId, webhookId }: SecretsOwner,
  { sealed_previous_secret: sealed, previous_secret_expires_at: expiresAt }: SealedSecrets,
  at: Date,
): ReplacedSecret[] {
  if (sealed === null || expiresAt === null || expiresAt <= at) return [];
  return [{ secret: vault.open(sealed, webhookSecretContext(ownerId, webhookId, 'previous')), expiresAt }];
}

/** Those that have not ended. */
export function openEarlierSecrets(
  vault: Vault,
  { ownerId, webhookId }: SecretsOwner,
  { sealed_earlier_secrets: sealed }: SealedSecrets,
  at: Date,
): ReplacedSecret[] {
  if (sealed === null) return [];
  const stored: StoredSecret[] = JSON.parse(vault.open(sealed, webhookSecretContext(ownerId, webhookId, 'earlier')));
  return stored
    .map(({ secret, expires_at }) => ({ secret, expiresAt: new Date(expires_at) }))
    .filter(({ expiresAt }) => expiresAt > at);
}

interface StoredSecret {
  readonly secret: string;
  readonly expires_at: string;
}

function toStored({ secret, expiresAt }: ReplacedSecret): StoredSecret {
  return { secret, expires_at: expiresAt.toISOString() };
}
