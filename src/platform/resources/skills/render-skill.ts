import type { AgentReference } from './reference-store.ts';
import type { Skill, SkillVersion } from './schema.ts';
import type { SkillRow, SkillVersionRow } from './store.ts';

export function renderSkill(row: SkillRow): Skill {
  return {
    ...row,
    object: 'skill',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** `agents`: those that name the skill, in any version. */
export function renderVersion(
  row: SkillVersionRow,
  agents: readonly AgentReference[],
  defaultVersion: number,
): SkillVersion {
  const paths = row.files.map(({ path }) => path);
  const below = (folder: string) => paths.filter((path) => path.startsWith(`${folder}/`));
  return {
    id: versionId(row.skill_id, row.version),
    object: 'skill.version',
    skill_id: row.skill_id,
    version: row.version,
    name: row.name,
    description: row.description,
    license: row.license,
    compatibility: row.compatibility,
    metadata: row.metadata,
    references: below('references'),
    scripts: below('scripts'),
    assets: below('assets'),
    files: row.files.map(({ path, size, sha256, media_type }) => ({ path, size, sha256, media_type })),
    referenced_by: agents
      .filter(({ skill_version }) => (skill_version ?? defaultVersion) === row.version)
      .map(({ agent_id, version }) => ({ agent_id, version })),
    bytes: row.bytes,
    created_at: row.created_at.toISOString(),
  };
}

export function versionId(skillId: string, version: number): string {
  return `${skillId}@${version}`;
}
