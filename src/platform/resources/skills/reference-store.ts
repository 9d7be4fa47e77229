/** What names a skill: drafts and versions of agents, smiths, and runs that have not ended. */
import { json } from '../../../kernel/db/values.ts';
import type { TenantDb } from '../../store/tenant-db.ts';

const MAX_REFERENCES = 100;

export interface AgentReference {
  readonly agent_id: string;
  /** Of the agent; null: its draft. */
  readonly version: number | null;
  /** Of the skill, as the agent names it; null: the default one. */
  readonly skill_version: number | null;
}

/** Whether anything names the skill or, with a version, this version of it by its number. */
export async function isSkillInUse(db: TenantDb, skillId: string, version?: number): Promise<boolean> {
  const named = json([{ skill_id: skillId, ...(version === undefined ? {} : { version }) }]);
  const { rows } = await db.raw<{ used: boolean }>({
    text: `
      select
        exists (select from agents
          where project_id = $1 and archived_at is null and draft -> 'skills' <> '[]'
            and draft -> 'skills' @> $2::jsonb)
        or exists (select from agent_versions v
          join agents a on a.project_id = v.project_id and a.id = v.agent_id and a.archived_at is null
          where v.project_id = $1 and v.snapshot -> 'skills' <> '[]' and v.snapshot -> 'skills' @> $2::jsonb)
        or exists (select from smiths
          where project_id = $1 and archived_at is null and config ? 'skills' and config -> 'skills' @> $2::jsonb)
        or exists (select from runs
          where project_id = $1 and status in ('in_progress', 'paused') and config ? 'skills'
            and config -> 'skills' -> 'offered' @> $2::jsonb) as used`,
    values: [named],
  });
  return rows[0]?.used === true;
}

/** Agents that name the skill, in any version; some of them where there are many. */
export async function listAgentReferences(db: TenantDb, skillId: string): Promise<AgentReference[]> {
  const { rows } = await db.raw<AgentReference>({
    text: `
      select agent_id, version, skill_version from (
        select a.id as agent_id, null::int as version, (ref ->> 'version')::int as skill_version
        from agents a cross join lateral jsonb_array_elements(a.draft -> 'skills') as ref
        where a.project_id = $1 and a.archived_at is null and a.draft -> 'skills' <> '[]'
          and a.draft -> 'skills' @> $2::jsonb and ref ->> 'skill_id' = $3
        union all
        select v.agent_id, v.version, (ref ->> 'version')::int
        from agent_versions v
        join agents a on a.project_id = v.project_id and a.id = v.agent_id and a.archived_at is null
        cross join lateral jsonb_array_elements(v.snapshot -> 'skills') as ref
        where v.project_id = $1 and v.snapshot -> 'skills' <> '[]'
          and v.snapshot -> 'skills' @> $2::jsonb and ref ->> 'skill_id' = $3
      ) as found
      order by agent_id collate "C", version nulls first
      limit ${MAX_REFERENCES}`,
    values: [json([{ skill_id: skillId }]), skillId],
  });
  return rows;
}
