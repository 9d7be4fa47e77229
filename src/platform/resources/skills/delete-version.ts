import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { FileDependencies } from '../files/index.ts';
import { dropArchives } from './delete-skill.ts';
import { isSkillInUse } from './reference-store.ts';
import type { SkillVersionPath } from './schema.ts';
import { findVersion, lockSkill, removeVersion } from './store.ts';

export async function deleteVersion(
  deps: FileDependencies,
  { tx, caller, params, log }: ProjectChange<{ params: SkillVersionPath }>,
): Promise<void> {
  const skill = await lockSkill(tx, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  if ((await findVersion(tx, skill.id, params.v)) === undefined) throw new ApiError('not_found');
  if (params.v === skill.default_version) {
    throw new ApiError('skill_in_use', {
      message: 'This is the skill’s default version. Move it with `POST /v1/skills/{id}`, or delete the skill.',
    });
  }
  if (await isSkillInUse(tx, skill.id, params.v)) throw new ApiError('skill_in_use');
  const removed = await removeVersion(tx, skill.id, params.v);
  await appendEvent(tx, {
    type: 'skill.version_deleted',
    actor: actorOf(caller),
    data: { skill_id: skill.id, version: params.v },
  });
  await dropArchives(deps, tx, removed === undefined ? [] : [removed], log);
}
