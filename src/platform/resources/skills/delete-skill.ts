import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { insertTombstone } from '../../store/tombstones.ts';
import { blobKey, discardBlob, type FileDependencies, giveBackStorage, releaseBlobs } from '../files/index.ts';
import { isSkillInUse } from './reference-store.ts';
import type { SkillPath } from './schema.ts';
import { lockSkill, type RemovedArchive, removeSkill } from './store.ts';

/** The archives that are removed at once; more are left to the sweep. */
const MAX_DISCARDED = 100;

/** Whoever comes to name the skill holds it too, so what is found here cannot be out of date. */
export async function deleteSkill(
  deps: FileDependencies,
  { tx, caller, params, log }: ProjectChange<{ params: SkillPath }>,
): Promise<void> {
  const skill = await lockSkill(tx, params.id);
  if (skill === undefined) throw new ApiError('not_found');
  if (await isSkillInUse(tx, skill.id)) throw new ApiError('skill_in_use');
  const archives = await removeSkill(tx, skill.id);
  await insertTombstone(tx, 'skill', { id: skill.id, smith_id: null });
  await appendEvent(tx, { type: 'skill.deleted', actor: actorOf(caller), data: { skill_id: skill.id } });
  await dropArchives(deps, tx, archives, log);
}

/** Call last: see storage-quota.ts. The archives' rows are gone; their bytes go once the transaction has committed. */
export async function dropArchives(
  deps: FileDependencies,
  tx: TenantTransaction,
  archives: readonly RemovedArchive[],
  log: Logger,
): Promise<void> {
  const keys = archives.map(({ archive_id }) => blobKey(tx.projectId, archive_id));
  await releaseBlobs(tx, keys);
  await giveBackStorage(
    tx,
    archives.reduce((sum, { archive_bytes }) => sum + archive_bytes, 0),
  );
  const discardAll = async () => {
    for (const key of keys.slice(0, MAX_DISCARDED)) await discardBlob(deps, tx.projectId, key);
  };
  tx.afterCommit(() => {
    discardAll().catch((error: unknown) => {
      log.warn({ err: error }, 'the archives of deleted skills are left for the sweep');
    });
  });
}
