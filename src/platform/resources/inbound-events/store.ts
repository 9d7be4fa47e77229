/** Rows of inbound events. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idAt } from '../../../kernel/ids/ids.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

const COLUMNS = ['id', 'source', 'type', 'subject', 'idempotency_key', 'smith_id', 'data', 'created_at'] as const;

export type InboundEventRow = Pick<Selectable<TenantTables['inbound_events']>, (typeof COLUMNS)[number]>;

export interface InboundEventFilter {
  readonly source: string | undefined;
  readonly smithId: string | undefined;
  readonly since: Date | undefined;
}

/** How far clocks of replicas may be apart: ids tell where to stop looking, within this margin each row's time decides. */
const MAX_CLOCK_LAG_MS = 5 * 60_000;

/** Newest first. */
export function listInboundEvents(
  db: TenantDb,
  page: PageRequest,
  { source, smithId, since }: InboundEventFilter,
): Promise<FittedPage<InboundEventRow>> {
  let query = db
    .selectFrom('inbound_events')
    .select(COLUMNS)
    .select(sql<number>`octet_length(inbound_events.data::text)`.as('size'));
  if (source !== undefined) query = query.where(sql<boolean>`source = ${source}`);
  if (smithId !== undefined) query = query.where('smith_id', '=', smithId);
  if (since !== undefined) {
    query = query
      .where('inbound_events.id', '>=', idAt('ievt', new Date(since.getTime() - MAX_CLOCK_LAG_MS)))
      .where('created_at', '>=', since);
  }
  return fitPage(db, pageById(query, 'inbound_events.id', page));
}

/** With a smith, its own alone. */
export async function findInboundEvent(
  db: TenantDb,
  id: string,
  smithId: string | undefined,
): Promise<InboundEventRow | undefined> {
  const found = db.selectFrom('inbound_events').select(COLUMNS).where('id', '=', id);
  const visible = smithId === undefined ? found : found.where('smith_id', '=', smithId);
  return visible.executeTakeFirst();
}
