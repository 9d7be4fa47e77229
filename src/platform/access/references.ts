/**
 * What a request may refer to. Wherever a caller names an object, in a body, in a configuration, in a tool or among input
 * items, it may name only what it could get itself with the same token: its posture, its scopes and, for a smith token,
 * its smith. What is foreign, forbidden or missing is refused alike, so that an answer tells nothing about existence.
 * A smith token names its own smith whatever its scopes: it would not be valid were that smith not there.
 *
 * What the path, `user` and `IC-Smith-Id` name is what the operation itself is about: the gate, its scope and its handler
 * decide. What is given once stays usable without being named again: a turn searches the stores of its smith's
 * configuration whoever starts it.
 */
import { sql } from 'kysely';
import type { ApiError } from '../../kernel/http/errors.ts';
import { isLiveFile } from '../store/expiry.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import { hasScope, type ProjectCaller, TENANT_MARKER } from './caller.ts';

interface KindOfReference {
  /** What getting one of these takes. */
  readonly scope: string;
  /** Only a tenant-admin token gets these; a smith token none of them. */
  readonly isTenants: boolean;
  /** Those that are there; with a smith, those of them that are its own. Absent: names of a registry that is not here. */
  readonly find?: (db: TenantDb, ids: readonly string[], smithId: string | undefined) => Promise<{ id: string }[]>;
}

/**
 * A skill's id, or one with a version behind a blank. Each skill is held, so that none is deleted before the transaction that
 * comes to name it has ended.
 */
async function findSkills(db: TenantDb, names: readonly string[]): Promise<{ id: string }[]> {
  const parts = names.map((name) => name.split(' '));
  const { rows } = await db.raw<{ id: string }>({
    text: `
      select named.name as id
      from unnest($2::text[], $3::text[], $4::int[]) as named (name, skill_id, version)
      join skills s on s.project_id = $1 and s.id = named.skill_id
      where named.version is null or exists (select from skill_versions v
        where v.project_id = $1 and v.skill_id = named.skill_id and v.version = named.version)
      for key share of s`,
    values: [
      names,
      parts.map(([id]) => id),
      parts.map(([, version]) => (version === undefined ? null : Number(version))),
    ],
  });
  return rows;
}

const isAmong = (ids: readonly string[]) => sql<boolean>`id = any(${ids})`;

const kinds = {
  agent: {
    scope: TENANT_MARKER,
    isTenants: true,
    find: (db, ids) =>
      db.selectFrom('agents').select('id').where(isAmong(ids)).where('archived_at', 'is', null).execute(),
  },
  conversation: { scope: 'conversations:read', isTenants: false },
  customer: {
    scope: 'customers:read',
    isTenants: true,
    find: (db, ids) => db.selectFrom('customers').select('id').where(isAmong(ids)).execute(),
  },
  file: {
    scope: 'files:read',
    isTenants: false,
    find: (db, ids, smithId) =>
      db
        .selectFrom('files')
        .select('id')
        .where(isLiveFile)
        .where(isAmong(ids))
        .$if(smithId !== undefined, (query) => query.where('smith_id', '=', smithId ?? ''))
        .execute(),
  },
  hosted_tool: { scope: TENANT_MARKER, isTenants: true },
  // Named by their names.
  mcp_server: {
    scope: TENANT_MARKER,
    isTenants: true,
    find: (db, names) =>
      db.selectFrom('mcp_servers').select('name as id').where(sql<boolean>`name = any(${names})`).execute(),
  },
  response: { scope: 'runs:read', isTenants: false },
  skill: { scope: 'skills:read', isTenants: true, find: findSkills },
  smith: {
    scope: 'runs:read',
    isTenants: false,
    find: (db, ids, smithId) =>
      db
        .selectFrom('smiths')
        .select('id')
        .where(isAmong(ids))
        .where('archived_at', 'is', null)
        .$if(smithId !== undefined, (query) => query.where('id', '=', smithId ?? ''))
        .execute(),
  },
  vector_store: {
    scope: 'vector_stores:read',
    isTenants: false,
    find: (db, ids, smithId) =>
      db
        .selectFrom('vector_stores')
        .select('id')
        .where(isAmong(ids))
        .where('deleted_at', 'is', null)
        .$if(smithId !== undefined, (query) => query.where('smith_id', '=', smithId ?? ''))
        .execute(),
  },
} satisfies Record<string, KindOfReference>;

export type ReferenceKind = keyof typeof kinds;

/**
 * Whether the caller could get objects of this kind at all. For those who look the object up themselves, limited to the
 * smith of `smithOf`; everyone else asks `findMissing`.
 */
export function mayRefer(caller: ProjectCaller, kind: ReferenceKind): boolean {
  if (kind === 'smith' && caller.kind === 'smith') return true;
  const { scope, isTenants } = kinds[kind];
  return hasScope(caller, scope) && !(isTenants && caller.kind === 'smith');
}

/** The smith whose objects alone the caller gets; undefined: everything of the project. */
export function smithOf(caller: ProjectCaller): string | undefined {
  return caller.kind === 'smith' ? caller.smithId : undefined;
}

/** The first of these ids that the caller may not refer to, whatever the reason; undefined where it may name them all. */
export async function findMissing(
  db: TenantDb,
  caller: ProjectCaller,
  kind: ReferenceKind,
  ids: readonly string[],
): Promise<string | undefined> {
  if (ids.length === 0) return undefined;
  if (!mayRefer(caller, kind)) return ids[0];
  const { find }: KindOfReference = kinds[kind];
  if (find === undefined) return undefined;
  const rows = await find(db, ids, smithOf(caller));
  const found = new Set(rows.map(({ id }) => id));
  return ids.find((id) => !found.has(id));
}

/** Throws what `refuse` makes of the first id that the caller may not refer to. */
export async function requireReferences(
  db: TenantDb,
  caller: ProjectCaller,
  kind: ReferenceKind,
  ids: readonly string[],
  refuse: (id: string) => ApiError,
): Promise<void> {
  const missing = await findMissing(db, caller, kind, ids);
  if (missing !== undefined) throw refuse(missing);
}
