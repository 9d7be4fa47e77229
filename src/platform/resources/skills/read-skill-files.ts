/** All files of a version, as the sandbox lays them into boxes. */
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { SkillFile } from '../../sandbox/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { OfferedSkill } from '../../tools/tool.ts';
import { blobKey } from '../files/index.ts';
import { openPackedFile } from './get-version-content.ts';
import { findVersion } from './store.ts';

/** One after the other; none where the version has been deleted. */
export async function* readSkillFiles(
  { db, blobs }: { readonly db: Database; readonly blobs: BlobStore },
  projectId: string,
  { skill_id, version }: OfferedSkill,
): AsyncGenerator<SkillFile> {
  const row = await findVersion(tenantDb(db, projectId), skill_id, version);
  if (row === undefined) return;
  const key = blobKey(projectId, row.archive_id);
  for (const file of row.files) {
    yield { path: file.path, content: await buffer(await openPackedFile(blobs, key, file)) };
  }
}
