/** Rows of UI bundles. Every query is already scoped to one project by the handle that it is given. */
import { sql } from 'kysely';
import { json } from '../../../../kernel/db/values.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';

export interface UiBundle {
  readonly content_hash: string;
  readonly blob_id: string;
  readonly bytes: number;
}

/**
 * Keeps the bundle, unless one of this content is kept already, which is then held until the transaction ends. The blob that
 * has the bytes.
 */
export async function insertBundle(db: TenantDb, bundle: UiBundle): Promise<string> {
  const row = await db
    .insertInto('ui_bundles')
    .values({ ...bundle })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'content_hash'])
        .doUpdateSet((eb) => ({ content_hash: eb.ref('excluded.content_hash') })),
    )
    .returning('blob_id')
    .executeTakeFirstOrThrow();
  return row.blob_id;
}

export async function findBundle(db: TenantDb, contentHash: string): Promise<UiBundle | undefined> {
  return db
    .selectFrom('ui_bundles')
    .select(['content_hash', 'blob_id', 'bytes'])
    .where('content_hash', '=', contentHash)
    .executeTakeFirst();
}

/** Keeps bundles from being removed before the transaction ends, which comes to name them. */
export async function holdBundles(db: TenantDb, contentHashes: readonly string[]): Promise<void> {
  await db
    .selectFrom('ui_bundles')
    .select('content_hash')
    .where(sql<boolean>`content_hash = any(${contentHashes})`)
    .forKeyShare()
    .execute();
}

/**
 * Removes the bundle if no draft, version or open run of the project has it. Undefined: it stays, or another transaction
 * holds it, which is about to use it or to remove it.
 */
export async function removeUnusedBundle(db: TenantDb, contentHash: string): Promise<UiBundle | undefined> {
  const held = await db
    .selectFrom('ui_bundles')
    .select('content_hash')
    .where('content_hash', '=', contentHash)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (held === undefined) return undefined;
  // A statement of its own: it sees what others have committed before the bundle was held.
  const { rows } = await db.raw<UiBundle>({
    text: `
      delete from ui_bundles
      where project_id = $1 and content_hash = $2
        and not exists (select from agents
          where project_id = $1 and archived_at is null and draft -> 'ui_resources' <> '[]'
            and draft -> 'ui_resources' @> $3::jsonb)
        and not exists (select from agent_versions v
          where v.project_id = $1 and v.snapshot -> 'ui_resources' <> '[]' and v.snapshot -> 'ui_resources' @> $3::jsonb
            and (exists (select from agents a
                where a.project_id = $1 and a.id = v.agent_id and a.archived_at is null)
              or exists (select from runs r
                where r.project_id = $1 and r.status in ('in_progress', 'paused')
                  and r.agent_id = v.agent_id and r.agent_version = v.version)))
      returning content_hash, blob_id, bytes`,
    values: [contentHash, json([{ content_hash: contentHash }])],
  });
  return rows[0];
}
