/** Rows of smith revisions: what the smith was after each change. */
import { sql } from 'kysely';
import type { PageRequest } from '../../kernel/http/paging.ts';
import { NEWEST_VERSION_FIRST, versionBefore } from '../configuration/page-by-version.ts';
import { type FittedPage, fitPage } from '../store/fit-page.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { SmithState } from './smith-state.ts';

export interface RevisionRow {
  version: number;
  snapshot: SmithState;
  created_by: string | null;
  note: string | null;
  created_at: Date;
}

function selectRevisions(db: TenantDb, smithId: string) {
  return (
    db
      .selectFrom('smith_revisions')
      .select(['version', 'created_by', 'note', 'created_at'])
      // The shape that `recordRevisions` gives it.
      .select(sql<SmithState>`snapshot`.as('snapshot'))
      .where('smith_id', '=', smithId)
  );
}

export async function findRevision(db: TenantDb, smithId: string, version: number): Promise<RevisionRow | undefined> {
  return selectRevisions(db, smithId).where('version', '=', version).executeTakeFirst();
}

export async function listRevisions(
  db: TenantDb,
  smithId: string,
  page: PageRequest,
): Promise<FittedPage<RevisionRow>> {
  const query = selectRevisions(db, smithId)
    .select(sql<number>`octet_length(snapshot::text)`.as('size'))
    .where('version', '<', versionBefore(page))
    .orderBy('version', 'desc')
    .limit(page.limit + 1);
  return fitPage(db, query, NEWEST_VERSION_FIRST);
}

/**
 * Records what the smiths are now as the revision that their rows already count. Call it after the change, in its
 * transaction: one statement for one smith or a thousand.
 */
export async function recordRevisions(
  db: TenantDb,
  smithIds: readonly string[],
  by: { readonly tokenId: string; readonly note?: string | null },
): Promise<void> {
  await db
    .insertInto('smith_revisions')
    .columns(['smith_id', 'version', 'snapshot', 'created_by', 'note'])
    .expression((eb) =>
      eb
        .selectFrom('smiths')
        .select(['id', 'revision', snapshotSql.as('snapshot')])
        .select([sql<string>`${by.tokenId}::text`.as('created_by'), sql<string>`${by.note ?? null}::text`.as('note')])
        .where(sql<boolean>`id = any(${smithIds})`),
    )
    .execute();
}

const snapshotSql = sql<string>`jsonb_build_object(
  'display_name', display_name, 'locale', locale, 'timezone', timezone, 'customer_id', customer_id,
  'metadata', metadata, 'agent_id', agent_id, 'pin', pin, 'config', config)`;
