import { ApiError } from '../../../../kernel/http/errors.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';
import type { UiResource } from '../../../tables.ts';
import { findAgent, findVersion } from '../store.ts';

/** The resources of the agent's draft, or of one of its versions. Throws `not_found`. */
export async function readResources(db: TenantDb, agentId: string, version: number | undefined): Promise<UiResource[]> {
  const agent = await findAgent(db, agentId);
  if (agent === undefined) throw new ApiError('not_found');
  if (version === undefined) return agent.draft.ui_resources;
  const published = await findVersion(db, agentId, version);
  if (published === undefined) {
    throw new ApiError('not_found', { param: 'version', message: `The agent has no version ${version}.` });
  }
  return published.snapshot.ui_resources;
}

/** The one with the name. Throws `not_found`. */
export async function requireResource(
  db: TenantDb,
  agentId: string,
  name: string,
  version: number | undefined,
): Promise<UiResource> {
  const resource = (await readResources(db, agentId, version)).find((one) => one.name === name);
  if (resource === undefined) throw new ApiError('not_found');
  return resource;
}
