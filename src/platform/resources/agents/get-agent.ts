import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { renderAgent } from './render-agent.ts';
import type { Agent, AgentPath } from './schema.ts';
import { findAgent } from './store.ts';

export async function getAgent(request: { db: Executor; caller: ProjectCaller; params: AgentPath }): Promise<Agent> {
  const row = await findAgent(tenantDb(request.db, request.caller.projectId), request.params.aid);
  if (row === undefined) throw new ApiError('not_found');
  return renderAgent(row);
}
