/** Rows of names. Every query of a caller is scoped to one workspace by the handle that it is given. */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import type { Zones } from '../registry/routing-registry.ts';
import type { WorkspaceTables } from '../tables.ts';
import type { SystemDb, WorkspaceDb } from '../workspace-scope.ts';
import { zoneOf } from '../zone-of-name.ts';

/** Literals, not parameters: with parameters a prepared statement could not use the partial indexes. */
const notGone = sql<boolean>`state <> 'gone'`;
const isActive = sql<boolean>`state = 'active'`;

export type DomainRow = Selectable<WorkspaceTables['domains']>;

/** The workspace's row of this name, unless the name is gone. */
export async function findDomain(db: WorkspaceDb, name: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('name', '=', name).where(notGone).executeTakeFirst();
}

export async function findDomainById(db: WorkspaceDb, id: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('id', '=', id).executeTakeFirst();
}

/** As `findDomainById`, locked until the transaction ends: charging and turning auto-renew off exclude each other. */
export async function lockDomain(db: WorkspaceDb, id: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Whose the name is, or is about to be, whatever the workspace. */
export async function findOwner(
  db: SystemDb,
  name: string,
): Promise<Pick<DomainRow, 'workspace_id' | 'id' | 'state'> | undefined> {
  return db
    .selectFrom('domains')
    .select(['workspace_id', 'id', 'state'])
    .where('name', '=', name)
    .where(notGone)
    .executeTakeFirst();
}

/** Inserts the name for the workspace. False when any workspace has it, or is acquiring it. */
export async function insertAcquisition(
  db: WorkspaceDb,
  domain: Pick<DomainRow, 'id' | 'name' | 'added_via' | 'renewal_fee'>,
): Promise<boolean> {
  const inserted = await db
    .insertInto('domains')
    .values({
      ...domain,
      renewal_fee: domain.renewal_fee === null ? null : json(domain.renewal_fee),
      state: 'acquiring',
      snapshot: null,
      synced_at: null,
      expires_at: null,
      release_at: null,
      billed_until: null,
      renewal_reason: null,
      renewal_shortfall_cents: null,
      gone_at: null,
      missing_since: null,
      missing_seen_at: null,
      deletion_sent_at: null,
      deletion_wanted_at: null,
      deletion_look_at: null,
      transfer_out: null,
      transfer_out_look_at: null,
      suspended_at: null,
      unpaid_problem: null,
      unpaid_tried_at: null,
      change_wanted: null,
      change_wanted_at: null,
      change_look_at: null,
      auth_code_until: null,
      auth_code_look_at: null,
      redemption_since: null,
      add_grace_until: null,
      add_grace_fee_cents: null,
    })
    .onConflict((conflict) => conflict.column('name').where(notGone).doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Active names of every workspace behind `after`, in the order of the alphabet. */
export async function listActiveAfter(
  db: SystemDb,
  after: string,
  limit: number,
): Promise<Pick<DomainRow, 'name' | 'billed_until' | 'expires_at' | 'release_at'>[]> {
  return db
    .selectFrom('domains')
    .select(['name', 'billed_until', 'expires_at', 'release_at'])
    .where(isActive)
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit)
    .execute();
}

/** Up to `limit + 1` names in alphabetical order, after `after`. */
export async function listDomains(
  db: WorkspaceDb,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<DomainRow[]> {
  const query = db
    .selectFrom('domains')
    .selectAll()
    .where(notGone)
    .orderBy('name')
    .limit(page.limit + 1);
  return (page.after === undefined ? query : query.where('name', '>', page.after)).execute();
}

/** Of names: one label below one of these zones; undefined: any. */
export function isUnder(zones: readonly string[] | undefined): RawBuilder<boolean> {
  if (zones === undefined) return sql<boolean>`true`;
  return sql<boolean>`${sql.raw(zoneOf('name'))} = any(${[...zones]}::text[])`;
}

/** The same of the names of one registry, or of none. */
export function isUnderZones(zones: Zones): RawBuilder<boolean> {
  if (zones === undefined) return sql<boolean>`true`;
  return 'only' in zones ? isUnder(zones.only) : sql<boolean>`not ${isUnder(zones.not)}`;
}
