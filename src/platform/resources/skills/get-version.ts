import { ApiError } from '../../../kernel/http/errors.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { listAgentReferences } from './reference-store.ts';
import { renderVersion } from './render-skill.ts';
import type { SkillVersion, SkillVersionPath } from './schema.ts';
import { findSkill, findVersion } from './store.ts';

export async function getVersion({
  db,
  params,
}: {
  readonly db: TenantDb;
  readonly params: SkillVersionPath;
}): Promise<SkillVersion> {
  const skill = await findSkill(db, params.id);
  const row = await findVersion(db, params.id, params.v);
  if (skill === undefined || row === undefined) throw new ApiError('not_found');
  return renderVersion(row, await listAgentReferences(db, skill.id), skill.default_version);
}
