/** What the start of a turn must know of its smith: one statement. */

import { type CreditStanding, creditStandingSql } from '../../billing/index.ts';
import { type BlockingBudget, blockingBudgetsSql } from '../../budgets/index.ts';
import type { StoredModelKey } from '../../models/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { AgentDraft, JsonObject, SmithConfig } from '../../tables.ts';
import type { McpConfig } from '../../tools/tool.ts';

export interface SmithForTurn {
  readonly id: string;
  readonly agent_id: string | null;
  readonly agent_version: number | null;
  readonly agent_snapshot: AgentDraft | null;
  readonly metadata: JsonObject;
  readonly config: Partial<SmithConfig>;
  /** Working memory. */
  readonly memory: string;
  /** Its turns are indexed as they end. */
  readonly recalls: boolean;
  /** All that the project has registered, by name. */
  readonly mcp_servers: McpConfig['servers'];
  /** The smith's own keys before the tenant's. */
  readonly model_keys: readonly StoredModelKey[];
  /** Budgets that block its turns. */
  readonly budgets: readonly BlockingBudget[];
  /** How its organization's wallet stands. */
  readonly credits: CreditStanding;
}

/** Undefined for a smith that is archived, of another project, or never was. */
export async function loadSmithForTurn(db: TenantDb, smithId: string): Promise<SmithForTurn | undefined> {
  const { rows } = await db.raw<SmithForTurn>({
    text: `
      select s.id, s.agent_id, s.agent_version, s.agent_snapshot, s.metadata, s.config,
        coalesce((
          select jsonb_agg(jsonb_build_object('id', m.id, 'name', m.name, 'hash', m.tools_hash) order by m.name)
          from mcp_servers m where m.project_id = s.project_id
        ), '[]'::jsonb) as mcp_servers,
        coalesce(w.content, '') as memory, coalesce(w.recalls, false) as recalls, coalesce(k.keys, '[]'::jsonb) as model_keys,
        ${blockingBudgetsSql({ project: 's.project_id', agent: 's.agent_id', smith: 's.id', customer: 's.customer_id' })} as budgets,
        ${creditStandingSql({ project: 's.project_id' })} as credits
      from smith_configurations s
      left join lateral (
        select jsonb_agg(jsonb_build_object('smith_id', k.smith_id, 'provider', k.provider,
          'sealed_api_key', k.sealed_api_key, 'base_url', k.base_url, 'workspace_id', k.workspace_id)
          order by k.smith_id desc) as keys
        from model_keys k
        where k.project_id = s.project_id and k.smith_id in ('', s.id)
      ) k on true
      left join smith_memories w on w.project_id = s.project_id and w.smith_id = s.id
      where s.project_id = $1 and s.id = $2 and s.archived_at is null`,
    values: [smithId],
  });
  return rows[0];
}
