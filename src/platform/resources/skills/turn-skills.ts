/** Skills as turns use them: versions are chosen when a turn begins, and read when its model asks for them. */
import type { Readable } from 'node:stream';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { TurnSkills } from '../../engine/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { MAX_SKILL_TEXT_BYTES, type SkillReader, type SkillText } from '../../tools/read-skill.ts';
import { blobKey } from '../files/index.ts';
import { openPackedFile } from './get-version-content.ts';
import { findVersion, listNamedVersions } from './store.ts';

export function createTurnSkills({
  db,
  blobs,
}: {
  readonly db: Database;
  readonly blobs: BlobStore;
}): TurnSkills & SkillReader {
  return {
    async fix(projectId, named) {
      const rows = await listNamedVersions(tenantDb(db, projectId), named);
      return {
        offered: rows.flatMap(({ skill_id, version, name, description }) =>
          version === null || name === null || description === null ? [] : [{ skill_id, version, name, description }],
        ),
        missing: rows.flatMap(({ skill_id, version, wanted }) =>
          version === null ? [{ skill_id, ...(wanted === null ? {} : { version: wanted }) }] : [],
        ),
      };
    },
    async read(projectId, { skill_id, version }, path) {
      const row = await findVersion(tenantDb(db, projectId), skill_id, version);
      if (row === undefined) return 'gone';
      const file = row.files.find((one) => one.path === path);
      if (file === undefined) return 'missing';
      return readText(await openPackedFile(blobs, blobKey(projectId, row.archive_id), file), file.size);
    },
    async list(projectId, { skill_id, version }) {
      const row = await findVersion(tenantDb(db, projectId), skill_id, version);
      return row?.files.map(({ path }) => path) ?? [];
    },
  };
}

/** As much of it as a model is given, ending with a whole character. */
async function readText(content: Readable, size: number): Promise<SkillText | 'binary'> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= MAX_SKILL_TEXT_BYTES) break;
  }
  const head = Buffer.concat(chunks).subarray(0, MAX_SKILL_TEXT_BYTES);
  const truncated = size > MAX_SKILL_TEXT_BYTES;
  try {
    // A character that the cut goes through is held back.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: truncated });
    return text.includes('\u0000') ? 'binary' : { text, truncated };
  } catch {
    return 'binary';
  }
}
