import type { Executor } from '../../kernel/db/database.ts';

/** The MCP server that a connector is for. */
export interface ConnectorTarget {
  readonly project_id: string;
  readonly id: string;
  /** One of both: its smith, or the agent whose smiths speak there. */
  readonly smith_id: string | null;
  readonly agent_id: string | null;
}

/** Clients bring the deployment's address and no project: a look across projects. Undefined where nothing is served there. */
export async function findTarget(db: Executor, deploymentId: string): Promise<ConnectorTarget | undefined> {
  const { rows } = await db.query<ConnectorTarget>({
    text: `
      select d.project_id, d.id, d.smith_id, d.agent_id
      from deployments d join projects p on p.id = d.project_id
      where d.id = $1 and d.kind = 'mcp' and d.status = 'active' and p.archived_at is null`,
    values: [deploymentId],
  });
  return rows[0];
}
