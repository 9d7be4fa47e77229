import { ApiError } from '../../../kernel/http/errors.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { sandboxSecretContext } from '../../sandbox/index.ts';
import { checkSecretName, checkSecretValue } from './check-secret.ts';
import { MAX_SECRETS } from './limits.ts';
import type { SandboxSecretConfigured, SandboxSecretIn, SandboxSecretPath } from './schema.ts';
import { countOtherSecrets, putSandboxSecret } from './store.ts';

export function putSecret({ vault }: { readonly vault: Pick<Vault, 'seal'> }) {
  return async ({
    tx,
    caller,
    params: { name },
    body: { value },
  }: ProjectChange<{ params: SandboxSecretPath; body: SandboxSecretIn }>): Promise<SandboxSecretConfigured> => {
    checkSecretName(name);
    checkSecretValue(value);
    if ((await countOtherSecrets(tx, name)) >= MAX_SECRETS) {
      throw new ApiError('invalid_request', {
        param: 'name',
        message: `A project may have ${MAX_SECRETS} sandbox secrets, and this one has as many. Delete one of them first.`,
      });
    }
    await putSandboxSecret(tx, name, vault.seal(value, sandboxSecretContext(caller.projectId, name)));
    await appendEvent(tx, {
      type: 'sandbox_secret.updated',
      smithId: null,
      actor: actorOf(caller),
      data: { name },
    });
    return { name, configured: true };
  };
}
