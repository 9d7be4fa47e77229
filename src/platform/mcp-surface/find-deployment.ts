import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { DeploymentStatus } from '../tables.ts';

export interface McpDeployment {
  readonly projectId: string;
  readonly id: string;
  /** Who answers: this smith, or one of this agent's, as the caller is or says. */
  readonly target: { readonly smithId: string } | { readonly agentId: string };
}

interface DeploymentRow {
  readonly id: string;
  readonly smith_id: string | null;
  readonly agent_id: string | null;
  readonly status: DeploymentStatus;
}

/** Throws `not_found`, and `invalid_state` for one whose smith or agent is archived. */
export async function findMcpDeployment(db: TenantDb, id: string): Promise<McpDeployment> {
  const { rows } = await db.raw<DeploymentRow>({
    text: `
      select id, smith_id, agent_id, status from deployments
      where project_id = $1 and id = $2 and kind = 'mcp'`,
    values: [id],
  });
  const [row] = rows;
  if (row === undefined) throw new ApiError('not_found');
  if (row.status !== 'active') {
    const message = 'This MCP server is out of service: its smith or agent is archived.';
    throw new ApiError('invalid_state', { message });
  }
  const target = row.smith_id === null ? { agentId: row.agent_id ?? '' } : { smithId: row.smith_id };
  return { projectId: db.projectId, id: row.id, target };
}
