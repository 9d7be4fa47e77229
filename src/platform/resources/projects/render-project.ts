import type { Project } from './schema.ts';
import type { ProjectRow } from './store.ts';

/** The public shape of a row. */
export function renderProject({ organization_id, created_at, archived_at, ...row }: ProjectRow): Project {
  return {
    ...row,
    organization: organization_id,
    created_at: created_at.toISOString(),
    archived_at: archived_at?.toISOString() ?? null,
  };
}
