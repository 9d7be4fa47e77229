/** Kysely over the port: typed queries whose SQL runs on a Database or inside one of its transactions. */
import { Kysely, type SelectQueryBuilder, type StringReference, sql } from 'kysely';
import type { Executor } from './database.ts';
import { ExecutorDialect } from './kysely-dialect.ts';
import { TenantScope, type TenantScopeOptions } from './tenant-scope.ts';

export type { TenantScopeOptions } from './tenant-scope.ts';

/** Queries that see every tenant's rows: for the system's own work. Rare, and the name shows it. */
export function unscoped<Tables>(executor: Executor, schema?: string): Kysely<Tables> {
  return inSchema(new Kysely<Tables>({ dialect: new ExecutorDialect(executor) }), schema);
}

/**
 * Queries that see one tenant's rows. The tenant's predicate is added as the query is compiled, to every table that it names
 * at any depth; inserts get the tenant's column. Throws TenantScopeError for what cannot be scoped: a table outside
 * `tables`, a statement of raw SQL, raw SQL that reads a table, DDL, merge, right and full joins.
 */
export function scoped<Tables>(executor: Executor, scope: TenantScopeOptions): Kysely<Tables> {
  return inSchema(new Kysely<Tables>({ dialect: new ExecutorDialect(executor, new TenantScope(scope)) }), scope.schema);
}

function inSchema<Tables>(db: Kysely<Tables>, schema: string | undefined): Kysely<Tables> {
  return schema === undefined ? db : db.withSchema(schema);
}

export interface KeyPage {
  /** Rows on the page, at least 1. One more is asked for, to tell whether there is another page. */
  readonly limit: number;
  /** The key of the last row seen: rows beyond it in the order. */
  readonly after?: string | undefined;
  /** Default: newest first, which with time-ordered ids is `desc`. */
  readonly order?: 'asc' | 'desc';
}

/** Up to `limit + 1` rows beyond `after` in the order of `key`, a unique column such as `'smiths.id'`. */
export function pageById<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  key: StringReference<DB, TB>,
  page: KeyPage,
): SelectQueryBuilder<DB, TB, O> {
  const order = page.order ?? 'desc';
  const column = sql.ref<string>(key);
  const beyond = order === 'desc' ? sql<boolean>`${column} < ${page.after}` : sql<boolean>`${column} > ${page.after}`;
  const rest = page.after === undefined ? query : query.where(beyond);
  return rest.orderBy(column, order).limit(page.limit + 1);
}
