/** What a user has let a smith have, as it is sealed. */
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { type Vault, VaultError } from '../../kernel/vault/vault.ts';
import { credentialContext } from './secret-context.ts';

export interface Credential {
  /** Absent: it has to be refreshed first. */
  readonly access_token?: string;
  readonly refresh_token?: string;
}

/** The columns of a credential: each one gets an id of its own. */
export interface SealedCredential {
  readonly credential_id: string;
  readonly sealed_credential: string;
  readonly has_refresh_token: boolean;
}

export function sealCredential(vault: Pick<Vault, 'seal'>, projectId: string, given: Credential): SealedCredential {
  const credential_id = mintId('cred');
  return {
    credential_id,
    sealed_credential: vault.seal(JSON.stringify(given), credentialContext(projectId, credential_id)),
    has_refresh_token: given.refresh_token !== undefined,
  };
}

/** Throws `broker_unavailable` where the master key that sealed it is not there. */
export function openCredential(
  vault: Pick<Vault, 'open'>,
  projectId: string,
  sealed: Pick<SealedCredential, 'credential_id' | 'sealed_credential'>,
): Credential {
  const { credential_id, sealed_credential } = sealed;
  return JSON.parse(openSealed(vault, sealed_credential, credentialContext(projectId, credential_id))) as Credential;
}

/** Throws `broker_unavailable`. */
export function openSealed(vault: Pick<Vault, 'open'>, sealed: string, context: string): string {
  try {
    return vault.open(sealed, context);
  } catch (cause) {
    if (!(cause instanceof VaultError)) throw cause;
    throw new ApiError('broker_unavailable', { cause });
  }
}
