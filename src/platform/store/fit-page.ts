/** Pages of rows of any size: they end at a number of bytes as well as of rows. */
import { type SelectQueryBuilder, sql } from 'kysely';
import { MAX_PAGE_BYTES } from '../../kernel/http/paging.ts';
import type { TenantDb } from './tenant-db.ts';

/** A row and what it adds to a page, in bytes. */
export interface SizedRow {
  readonly size: number;
}

export interface FittedPage<Row> {
  /** Up to one row more than the page holds. */
  readonly rows: Row[];
  /** There are more, for which the page has no room. */
  readonly isCut: boolean;
}

export interface PageOrder {
  /** Columns of the page, the first one first, that are unique together. */
  readonly by: readonly string[];
  readonly direction: 'asc' | 'desc';
}

const NEWEST_FIRST: PageOrder = { by: ['id'], direction: 'desc' };

/** The rows of a page as far as they fit into MAX_PAGE_BYTES together; the first one always does. `order` is the page's own. */
export async function fitPage<DB, TB extends keyof DB, Row extends SizedRow>(
  db: TenantDb,
  page: SelectQueryBuilder<DB, TB, Row>,
  order: PageOrder = NEWEST_FIRST,
): Promise<FittedPage<Row>> {
  const direction = sql.raw(order.direction);
  const orderOf = (table: string) =>
    sql.join(order.by.map((column) => sql`${sql.ref(`${table}.${column}`)} ${direction}`));
  const sums = db
    .selectFrom(page.as('page'))
    .selectAll('page')
    .select([
      sql<number>`sum(page.size) over (order by ${orderOf('page')}) - page.size`.as('bytes_before'),
      sql<number>`count(*) over ()`.as('found'),
    ]);
  const rows = await db
    .selectFrom(sums.as('sums'))
    .selectAll('sums')
    .where(sql<boolean>`sums.bytes_before < ${MAX_PAGE_BYTES}`)
    .orderBy(orderOf('sums'))
    .execute();
  const fitted = rows as unknown as (Row & { readonly found: number })[];
  return { rows: fitted, isCut: fitted.length < (fitted[0]?.found ?? 0) };
}
