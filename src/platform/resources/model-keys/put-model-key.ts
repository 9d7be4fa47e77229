import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { modelKeyContext } from '../../models/index.ts';
import { findSmith, holdSmiths } from '../../smiths/index.ts';
import { type CheckedModelKey, checkModelKey } from './check-model-key.ts';
import type { ModelKeyDependencies } from './dependencies.ts';
import type { ModelKeyConfigured, ModelKeyIn, ProviderPath, SmithProviderPath } from './schema.ts';
import { putModelKey, TENANT_OWNER } from './store.ts';

type Request<Params> = ProjectRead<{ params: Params; body: ModelKeyIn }>;

export function putTenantModelKey(deps: ModelKeyDependencies) {
  const policy = deps.config.modelPrivateAddresses === 'allow' ? 'private' : 'public';
  return async ({ db, caller, params, body }: Request<ProviderPath>): Promise<ModelKeyConfigured> => {
    const key = await checkModelKey(params.provider, body, { outbound: deps.outbound, policy });
    await db.transaction((tx) => save(deps, tx, caller, TENANT_OWNER, params.provider, key));
    return renderConfigured(params.provider, key);
  };
}

/** An end user chooses the address: public, or of the operator's list, whatever else tenants may reach. */
export function putSmithModelKey(deps: ModelKeyDependencies) {
  return async ({ db, caller, params, body }: Request<SmithProviderPath>): Promise<ModelKeyConfigured> => {
    const { sid, provider } = params;
    if ((await findSmith(db, sid)) === undefined) throw new ApiError('not_found');
    const key = await checkModelKey(provider, body, { outbound: deps.outbound, policy: 'public' });
    await db.transaction(async (tx) => {
      // Held, because it may have been deleted while the address was looked up.
      if ((await holdSmiths(tx, [sid])).length === 0) throw new ApiError('not_found');
      await save(deps, tx, caller, sid, provider, key);
    });
    return renderConfigured(provider, key);
  };
}

async function save(
  { vault }: Pick<ModelKeyDependencies, 'vault'>,
  tx: Parameters<typeof appendEvent>[0],
  caller: ProjectCaller,
  owner: string,
  provider: string,
  key: CheckedModelKey,
): Promise<void> {
  const { projectId } = caller;
  await putModelKey(tx, owner, {
    provider,
    sealed_api_key: vault.seal(key.apiKey, modelKeyContext(projectId, owner, provider)),
    base_url: key.baseUrl,
    workspace_id: key.workspaceId,
  });
  await appendEvent(tx, {
    type: 'model_key.updated',
    smithId: owner === TENANT_OWNER ? null : owner,
    actor: actorOf(caller),
    data: { provider, scope: owner === TENANT_OWNER ? 'tenant' : 'smith', base_url: key.baseUrl },
  });
}

function renderConfigured(provider: string, key: CheckedModelKey): ModelKeyConfigured {
  return { provider, configured: true, base_url: key.baseUrl, workspace_id: key.workspaceId };
}
