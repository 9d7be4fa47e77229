import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { getSkill } from './get-skill.ts';
import type { Skill, SkillPath, SkillUpdateIn } from './schema.ts';
import { findVersion, lockSkill, updateSkill as updateRow } from './store.ts';

/** Moves the default version. A move to where it is leaves no event. */
export async function updateSkill({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: SkillPath; body: SkillUpdateIn }>): Promise<Skill> {
  const skill = await lockSkill(tx, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  const version = Number(body.default_version);
  if ((await findVersion(tx, skill.id, version)) === undefined) {
    throw new ApiError('not_found', {
      param: 'default_version',
      message: `The skill has no version ${version}. Take one from \`GET /v1/skills/{id}/versions\`.`,
    });
  }
  if (version !== skill.default_version) {
    await updateRow(tx, skill.id, { default_version: version });
    await appendEvent(tx, {
      type: 'skill.updated',
      actor: actorOf(caller),
      data: { skill_id: skill.id, default_version: version },
    });
  }
  return getSkill({ db: tx, params });
}
