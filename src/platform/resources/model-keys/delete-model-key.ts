import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { holdSmiths } from '../../smiths/index.ts';
import type { ProviderPath, SmithProviderPath } from './schema.ts';
import { removeModelKey, TENANT_OWNER } from './store.ts';

export async function deleteTenantModelKey(request: ProjectChange<{ params: ProviderPath }>): Promise<void> {
  await remove(request, TENANT_OWNER, request.params.provider);
}

export async function deleteSmithModelKey(request: ProjectChange<{ params: SmithProviderPath }>): Promise<void> {
  const { sid, provider } = request.params;
  const held = await holdSmiths(request.tx, [sid]);
  if (held.length === 0) throw new ApiError('not_found');
  await remove(request, sid, provider);
}

async function remove({ tx, caller }: ProjectChange, owner: string, provider: string): Promise<void> {
  if (!(await removeModelKey(tx, owner, provider))) throw new ApiError('not_found');
  await appendEvent(tx, {
    type: 'model_key.deleted',
    smithId: owner === TENANT_OWNER ? null : owner,
    actor: actorOf(caller),
    data: { provider, scope: owner === TENANT_OWNER ? 'tenant' : 'smith' },
  });
}
