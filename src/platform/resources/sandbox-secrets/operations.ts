import type { Vault } from '../../../kernel/vault/vault.ts';
import { project } from '../../access/operation.ts';
import { deleteSecret } from './delete-secret.ts';
import { MAX_SECRETS } from './limits.ts';
import { listSecrets } from './list-secrets.ts';
import { putSecret } from './put-secret.ts';
import { SandboxSecretConfigured, SandboxSecretIn, SandboxSecretList, SandboxSecretPath } from './schema.ts';

export function sandboxSecretOperations(deps: { readonly vault: Pick<Vault, 'seal'> }) {
  return [
    project.read({
      id: 'tenant.sandbox_secrets.list',
      method: 'GET',
      path: '/v1/tenant/sandbox_secrets',
      posture: 'admin',
      summary: 'List the secrets of the sandbox',
      description: 'Their names, never their values.',
      reply: SandboxSecretList,
      handler: listSecrets,
    }),
    project.change({
      id: 'tenant.sandbox_secrets.put',
      method: 'PUT',
      path: '/v1/tenant/sandbox_secrets/{name}',
      posture: 'admin',
      summary: 'Set a secret of the sandbox',
      description:
        'Commands of `run_command` have it as an environment variable, from the next command on. Where its value appears in ' +
        'what they write out, it is masked. Names that decide how programs are loaded or run, such as `LD_PRELOAD`, are ' +
        `refused. A project may have ${MAX_SECRETS} of them.`,
      params: SandboxSecretPath,
      body: SandboxSecretIn,
      example: { value: 'your-secret' },
      reply: SandboxSecretConfigured,
      errors: ['invalid_name', 'secret_required'],
      handler: putSecret(deps),
    }),
    project.change({
      id: 'tenant.sandbox_secrets.delete',
      method: 'DELETE',
      path: '/v1/tenant/sandbox_secrets/{name}',
      posture: 'admin',
      summary: 'Delete a secret of the sandbox',
      params: SandboxSecretPath,
      handler: deleteSecret,
    }),
  ];
}
