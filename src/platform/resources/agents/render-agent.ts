import type { Agent, AgentVersion } from './schema.ts';
import type { AgentRow, VersionRow } from './store.ts';

/** The live agent with this slug is the project's default. */
export const DEFAULT_AGENT_SLUG = 'default';

/** The public shape of an agent. */
export function renderAgent(row: AgentRow): Agent {
  return {
    ...row,
    is_default: row.slug === DEFAULT_AGENT_SLUG,
    last_activity_at: row.last_activity_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** The public shape of a version. */
export function renderVersion(row: VersionRow): AgentVersion {
  return { ...row, created_at: row.created_at.toISOString() };
}
