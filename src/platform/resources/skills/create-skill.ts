import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { blobKey, chargeStorage, claimBlobs, type FileLimits } from '../files/index.ts';
import type { StoredBundle } from './bundle/upload-bundle.ts';
import { getSkill } from './get-skill.ts';
import type { Skill } from './schema.ts';
import { insertSkill, insertVersion } from './store.ts';

export async function createSkill(
  limits: Pick<FileLimits, 'projectStorageBytes'>,
  { tx, caller, file: bundle }: ProjectChange<{ file: StoredBundle }>,
): Promise<Skill> {
  const id = mintId('skill');
  const { name } = bundle.manifest;
  if (!(await insertSkill(tx, id, name))) throw new ApiError('skill_exists', { param: 'files' });
  await addVersion(tx, id, 1, bundle);
  await appendEvent(tx, { type: 'skill.created', actor: actorOf(caller), data: { skill_id: id, name } });
  await chargeStorage(tx, bundle.archiveBytes, limits.projectStorageBytes);
  return getSkill({ db: tx, params: { id } });
}

/** Makes the bundle a version. Its bytes are the project's to pay for: `chargeStorage`. */
export async function addVersion(
  tx: TenantTransaction,
  skillId: string,
  version: number,
  { manifest, files, bytes, blobId, archiveBytes, sha256 }: StoredBundle,
): Promise<void> {
  await claimBlobs(tx, [blobKey(tx.projectId, blobId)]);
  await insertVersion(tx, {
    skill_id: skillId,
    version,
    description: manifest.description,
    license: manifest.license,
    compatibility: manifest.compatibility,
    metadata: manifest.metadata,
    files: [...files],
    bytes,
    archive_id: blobId,
    archive_bytes: archiveBytes,
    archive_sha256: sha256,
  });
}
