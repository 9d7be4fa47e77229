import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { chargeStorage, type FileLimits } from '../files/index.ts';
import { invalidBundle } from './bundle/bundle-file.ts';
import type { StoredBundle } from './bundle/upload-bundle.ts';
import { addVersion } from './create-skill.ts';
import { getVersion } from './get-version.ts';
import type { SkillPath, SkillVersion, SkillVersionFields } from './schema.ts';
import { lockSkill, updateSkill } from './store.ts';

export async function createVersion(
  limits: Pick<FileLimits, 'projectStorageBytes'>,
  {
    tx,
    caller,
    params,
    body,
    file: bundle,
  }: ProjectChange<{ params: SkillPath; body: SkillVersionFields; file: StoredBundle }>,
): Promise<SkillVersion> {
  const skill = await lockSkill(tx, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  if (bundle.manifest.name !== skill.name) {
    throw invalidBundle(`\`name\` in SKILL.md must be that of the skill, which is "${skill.name}".`);
  }
  const actor = actorOf(caller);
  const version = skill.latest_version + 1;
  await addVersion(tx, skill.id, version, bundle);
  const isDefault = body.default === true;
  await updateSkill(tx, skill.id, { latest_version: version, ...(isDefault ? { default_version: version } : {}) });
  await appendEvent(tx, { type: 'skill.version_created', actor, data: { skill_id: skill.id, version } });
  if (isDefault) {
    await appendEvent(tx, { type: 'skill.updated', actor, data: { skill_id: skill.id, default_version: version } });
  }
  await chargeStorage(tx, bundle.archiveBytes, limits.projectStorageBytes);
  return getVersion({ db: tx, params: { id: skill.id, v: version } });
}
