/** Which models a caller can run. */
import type { ProjectCaller } from '../../access/caller.ts';
import { DEMO_MODEL_ID, findModel, listModels, type ModelInfo } from '../../models/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { listKeyedProviders, TENANT_OWNER } from '../model-keys/index.ts';

const BUILT_IN = 'builtin';

/** The built-in provider, those with a key of the tenant's and, for a smith, those with a key of its own. */
export async function listAvailableProviders(db: TenantDb, caller: ProjectCaller): Promise<ReadonlySet<string>> {
  const owners = caller.kind === 'smith' ? [TENANT_OWNER, caller.smithId] : [TENANT_OWNER];
  return new Set([BUILT_IN, ...(await listKeyedProviders(db, owners))]);
}

/** The known models of these providers, the built-in one first. */
export function listModelsOf(providers: ReadonlySet<string>): readonly ModelInfo[] {
  if (providers.size > 1) return listModels().filter((model) => providers.has(model.provider));
  // The catalogue, which costs memory to load, knows nothing more of the built-in provider.
  const demo = findModel(DEMO_MODEL_ID);
  return demo === undefined ? [] : [demo];
}
