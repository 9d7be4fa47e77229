/**
 * Blobs that nothing accounts for, no file, no version of a skill, no UI bundle, no workspace of a sandbox and no note (see
 * resources/files/keep-blob.ts): what a crash of the machine,
 * or a database that was restored from a backup, has left in the blob store; and what uploads have left that broke off.
 *
 * A blob has a note before it is stored, and in every state of the database after that it has a note or a row, until it is
 * removed: both change hands in one transaction. So what one statement finds to have none is never asked for again, and
 * no upload that is just being committed can be taken for an orphan.
 */

import { buffer } from 'node:stream/consumers';
import { BlobNotFoundError, type BlobStore, digestOfKey } from '../../kernel/blobs/blobs.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';

/** Younger blobs and uploads are left alone. */
const MIN_AGE_MS = 3_600_000;
/** Blobs a statement. */
const BATCH_SIZE = 500;
/** The blob that says whose blobs lie in the store: the id in `store_identity`. */
export const OWNER_KEY = 'store-identity';
const MAX_OWNER_BYTES = 256;

export interface SweepDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly logger: Logger;
}

/**
 * Removes orphaned blobs and stale uploads that are an hour old. Removes no blob while the store belongs to another
 * database: then this one cannot tell what is an orphan.
 */
export async function sweepOrphanedBlobs(
  deps: SweepDependencies,
  signal: AbortSignal,
  now = systemClock.now(),
): Promise<void> {
  const { blobs, logger } = deps;
  const before = new Date(now.getTime() - MIN_AGE_MS);
  const uploads = await blobs.removeStaleUploads(before);
  if (uploads > 0) logger.info({ uploads }, 'removed what broken uploads have left');
  if (!(await isOwnStore(deps))) {
    logger.warn(
      'The files belong to another database, so none are swept. Give this database a data folder of its own, or one ' +
        'that was restored together with it.',
    );
    return;
  }
  let removed = 0;
  for await (const batch of inBatches(blobs.listDigests(before))) {
    if (signal.aborted) break;
    for (const digest of await findOrphans(deps.db, batch)) {
      await blobs.removeByDigest(digest);
      removed += 1;
    }
  }
  if (removed > 0) logger.info({ blobs: removed }, 'removed blobs that nothing stands for');
}

/** Those of the digests that nothing stands for. */
async function findOrphans(db: Database, digests: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ digest: string }>({
    text: `
      select listed.digest from unnest($1::text[]) as listed (digest)
      where not exists (select from files where blob_digest(project_id || '/' || id) = listed.digest)
        and not exists (select from skill_versions where blob_digest(project_id || '/' || archive_id) = listed.digest)
        and not exists (select from ui_bundles where blob_digest(project_id || '/' || blob_id) = listed.digest)
        and not exists (select from sandbox_boxes where blob_digest(project_id || '/' || archive_id) = listed.digest)
        and not exists (select from unclaimed_blobs where blob_digest(blob_key) = listed.digest)`,
    values: [digests],
  });
  const owner = digestOfKey(OWNER_KEY);
  return rows.map((row) => row.digest).filter((digest) => digest !== owner);
}

async function* inBatches(digests: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const digest of digests) {
    batch.push(digest);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Whether the blob store is this database's; one that is nobody's becomes so. */
async function isOwnStore({ db, blobs }: SweepDependencies): Promise<boolean> {
  const identity = await readIdentity(db);
  const owner = await readOwner(blobs);
  if (owner !== undefined) return owner === identity;
  await blobs.put(OWNER_KEY, asBytes(identity), { maxBytes: MAX_OWNER_BYTES });
  return true;
}

async function readIdentity(db: Database): Promise<string> {
  await db.query({
    text: 'insert into store_identity (id) values ($1) on conflict do nothing',
    values: [mintId('store')],
  });
  const { rows } = await db.query<{ id: string }>({ text: 'select id from store_identity', values: [] });
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no identity');
  return row.id;
}

async function readOwner(blobs: BlobStore): Promise<string | undefined> {
  try {
    const { stream } = await blobs.get(OWNER_KEY);
    return (await buffer(stream)).toString('utf8');
  } catch (error) {
    if (error instanceof BlobNotFoundError) return undefined;
    throw error;
  }
}

async function* asBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
