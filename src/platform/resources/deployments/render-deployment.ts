import type { Deployment } from './schema.ts';
import type { DeploymentRow } from './store.ts';

/** Of the MCP server that a deployment is. */
export function mcpPath(id: string): string {
  return `/v1/deployments/${id}/mcp`;
}

/** The public shape of a row: names of secrets, never their values. */
export function renderDeployment(publicUrl: string, row: DeploymentRow): Deployment {
  const { smith_id, agent_id, created_at, ...rest } = row;
  return {
    ...rest,
    target: smith_id === null ? { type: 'agent', id: agent_id ?? '' } : { type: 'smith', id: smith_id },
    mcp_url: row.kind === 'mcp' ? `${publicUrl}${mcpPath(row.id)}` : '',
    page_url: row.kind === 'web' ? `${publicUrl}/hosted/${row.id}` : '',
    created_at: created_at.toISOString(),
  };
}
