import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { readWebPage, type WebPage } from '../channels/index.ts';
import type { DeploymentStatus, JsonObject } from '../tables.ts';

/** A hosted page as its visitors find it. */
export interface HostedPage {
  readonly projectId: string;
  readonly id: string;
  /** Whom visitors speak to: this smith, or one of their own on this agent. */
  readonly target: { readonly smithId: string } | { readonly agentId: string };
  readonly settings: WebPage;
  /** Null: everyone may write. */
  readonly sealedSecrets: string | null;
  readonly status: DeploymentStatus;
}

interface PageRow {
  project_id: string;
  id: string;
  smith_id: string | null;
  agent_id: string | null;
  provider_metadata: JsonObject;
  sealed_secrets: string | null;
  status: DeploymentStatus;
}

/** Visitors bring the page's id and no project: the one look across projects. Throws `not_found`. */
export async function findPage(db: Executor, id: string): Promise<HostedPage> {
  const { rows } = await db.query<PageRow>({
    text: `
      select d.project_id, d.id, d.smith_id, d.agent_id, d.provider_metadata, d.sealed_secrets, d.status
      from deployments d join projects p on p.id = d.project_id
      where d.id = $1 and d.kind = 'web' and p.archived_at is null`,
    values: [id],
  });
  const [row] = rows;
  if (row === undefined) throw new ApiError('not_found', { message: 'There is no such page. Check its address.' });
  return {
    projectId: row.project_id,
    id: row.id,
    target: row.smith_id === null ? { agentId: row.agent_id ?? '' } : { smithId: row.smith_id },
    settings: readWebPage(row.provider_metadata),
    sealedSecrets: row.sealed_secrets,
    status: row.status,
  };
}
