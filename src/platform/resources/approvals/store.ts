/** Rows of approvals. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';
import type { ApprovalStatus } from './schema.ts';

export type ApprovalRow = Omit<
  Selectable<TenantTables['approvals']>,
  'project_id' | 'content' | 'question_state' | 'expires_at' | 'holder'
>;

export interface ApprovalFilter {
  readonly status: ApprovalStatus | undefined;
  readonly smithId: string | undefined;
}

function selectApprovals(db: TenantDb) {
  return db
    .selectFrom('approvals')
    .select([
      'id',
      'run_id',
      'smith_id',
      'tool_call_id',
      'tool',
      'args',
      'elicitation',
      'status',
      'actor',
      'reason',
      'created_at',
      'resolved_at',
    ]);
}

export async function findApproval(db: TenantDb, id: string): Promise<ApprovalRow | undefined> {
  return selectApprovals(db).where('id', '=', id).executeTakeFirst();
}

export async function listApprovals(
  db: TenantDb,
  filter: ApprovalFilter,
  page: PageRequest,
): Promise<FittedPage<ApprovalRow>> {
  const size = sql<number>`octet_length(args::text) + coalesce(octet_length(elicitation::text), 0)`;
  let query = selectApprovals(db).select(size.as('size'));
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (filter.smithId !== undefined) query = query.where('smith_id', '=', filter.smithId);
  return fitPage(db, pageById(query, 'approvals.id', page));
}
