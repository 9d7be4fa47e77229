import { ApiError } from '../../../kernel/http/errors.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { renderSkill } from './render-skill.ts';
import type { Skill, SkillPath } from './schema.ts';
import { findSkill } from './store.ts';

export async function getSkill({ db, params }: { db: TenantDb; params: SkillPath }): Promise<Skill> {
  const row = await findSkill(db, params.id);
  if (row === undefined) throw new ApiError('not_found');
  return renderSkill(row);
}
