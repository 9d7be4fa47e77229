import type { Vault } from '../../../kernel/vault/vault.ts';
import { deploymentSecretContext } from '../../channels/index.ts';
import type { JsonObject } from '../../tables.ts';

/** As the row of a deployment keeps them. */
export function sealSecrets(
  vault: Vault,
  projectId: string,
  id: string,
  secrets: JsonObject,
): { readonly sealed_secrets: string | null; readonly secret_keys: string[] } {
  const secret_keys = Object.keys(secrets);
  if (secret_keys.length === 0) return { sealed_secrets: null, secret_keys };
  return { sealed_secrets: vault.seal(JSON.stringify(secrets), deploymentSecretContext(projectId, id)), secret_keys };
}
