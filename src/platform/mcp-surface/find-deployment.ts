import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb } from '../store/tenant-db.ts';

export interface McpDeployment {
  readonly projectId: string;
  readonly id: string;
  /** Who answers: this smith, or one of this agent's, as the caller is or says. */
  readonly target: { readonly smithId: string } | { readonly agentId: string };
}

/** Throws `not_found`, and `invalid_state` for one whose smith or agent is archived. */
export async function findMcpDeployment(db: TenantDb, id: string): Promise<McpDeployment> {
  const row = await db
    .selectFrom('deployments')
    .select(['id', 'smith_id', 'agent_id', 'status'])
    .where('id', '=', id)
    .where('kind', '=', 'mcp')
    .executeTakeFirst();
  if (row === undefined) throw new ApiError('not_found');
  if (row.status !== 'active') {
    const message = 'This MCP server is out of service: its smith or agent is archived.';
    throw new ApiError('invalid_state', { message });
  }
  const target = row.smith_id === null ? { agentId: row.agent_id ?? '' } : { smithId: row.smith_id };
  return { projectId: db.projectId, id: row.id, target };
}
