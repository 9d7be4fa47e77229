import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderAgent } from './render-agent.ts';
import type { Agent, AgentPath } from './schema.ts';
import { findAgent } from './store.ts';

export async function getAgent(request: { db: TenantDb; caller: ProjectCaller; params: AgentPath }): Promise<Agent> {
  const row = await findAgent(request.db, request.params.aid);
  if (row === undefined) throw new ApiError('not_found');
  return renderAgent(row);
}
