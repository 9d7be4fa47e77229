import { mcpAddress } from '../../access/mcp-address.ts';
import type { Deployment } from './schema.ts';
import type { DeploymentRow } from './store.ts';

/** The public shape of a row: names of secrets, never their values. */
export function renderDeployment(publicUrl: string, row: DeploymentRow): Deployment {
  const { smith_id, agent_id, created_at, ...rest } = row;
  return {
    ...rest,
    target: smith_id === null ? { type: 'agent', id: agent_id ?? '' } : { type: 'smith', id: smith_id },
    mcp_url: row.kind === 'mcp' ? mcpAddress(publicUrl, row.id) : '',
    page_url: row.kind === 'web' ? `${publicUrl}/hosted/${row.id}` : '',
    created_at: created_at.toISOString(),
  };
}
