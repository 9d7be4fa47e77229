/** What the start of a turn must know of its smith. The smiths of one project that are asked for together are read in one statement. */

import type { Executor } from '../../../kernel/db/database.ts';
import { createKeyedBatcher } from '../../../kernel/event-loop/batcher.ts';
import { type CreditStanding, creditStandingSql } from '../../billing/index.ts';
import { type BlockingBudget, blockingBudgetsSql } from '../../budgets/index.ts';
import type { StoredModelKey } from '../../models/index.ts';
import { executorOf } from '../../store/executor-of.ts';
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
  /** A turn of it was in progress. */
  readonly is_busy: boolean;
}

/** Undefined for a smith that is archived, or whose project is, of another project, or never was. As it stands after the call. */
export function loadSmithForTurn(db: TenantDb, smithId: string): Promise<SmithForTurn | undefined> {
  const executor = executorOf(db);
  const load =
    loaders.get(executor) ?? createKeyedBatcher((projectId, ids) => loadSmiths(executor, projectId, ids), LIMITS);
  loaders.set(executor, load);
  return load(db.projectId, smithId);
}

type Loader = (projectId: string, smithId: string) => Promise<SmithForTurn | undefined>;

/** One for each store. */
const loaders = new WeakMap<Executor, Loader>();
const LIMITS = { maxItems: 32, patienceMs: 20 };

async function loadSmiths(
  executor: Executor,
  projectId: string,
  ids: readonly string[],
): Promise<readonly (SmithForTurn | undefined)[]> {
  const { rows } = await executor.query<SmithForTurn>({ ...statement, values: [projectId, [...ids]] });
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

const statement = {
  isQuick: true,
  text: `
    select s.id, s.agent_id, s.agent_version, s.agent_snapshot, s.metadata, s.config,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', m.id, 'name', m.name, 'hash', m.tools_hash) order by m.name)
        from mcp_servers m where m.project_id = s.project_id
      ), '[]'::jsonb) as mcp_servers,
      coalesce(w.content, '') as memory, coalesce(w.recalls, false) as recalls, coalesce(k.keys, '[]'::jsonb) as model_keys,
      ${blockingBudgetsSql({ project: 's.project_id', agent: 's.agent_id', smith: 's.id', customer: 's.customer_id' })} as budgets,
      ${creditStandingSql({ project: 's.project_id' })} as credits,
      exists (
        select 1 from runs r where r.project_id = s.project_id and r.smith_id = s.id and r.status = 'in_progress'
      ) as is_busy
    from smith_configurations s
    left join lateral (
      select jsonb_agg(jsonb_build_object('smith_id', k.smith_id, 'provider', k.provider,
        'sealed_api_key', k.sealed_api_key, 'base_url', k.base_url, 'workspace_id', k.workspace_id)
        order by k.smith_id desc) as keys
      from model_keys k
      where k.project_id = s.project_id and k.smith_id in ('', s.id)
    ) k on true
    left join smith_memories w on w.project_id = s.project_id and w.smith_id = s.id
    where s.project_id = $1 and s.id = any ($2::text[]) and s.archived_at is null
      and exists (select from projects p where p.id = $1 and p.archived_at is null)`,
} as const;
