import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { SandboxSecretPath } from './schema.ts';
import { removeSandboxSecret } from './store.ts';

export async function deleteSecret({
  tx,
  caller,
  params: { name },
}: ProjectChange<{ params: SandboxSecretPath }>): Promise<void> {
  if (!(await removeSandboxSecret(tx, name))) throw new ApiError('not_found');
  await appendEvent(tx, { type: 'sandbox_secret.deleted', smithId: null, actor: actorOf(caller), data: { name } });
}
