/** Rows of approvals. Every query is already scoped to one project by the handle that it is given. */
import type { Selectable } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';
import type { ApprovalStatus } from './schema.ts';

export type ApprovalRow = Omit<Selectable<TenantTables['approvals']>, 'project_id' | 'content'>;

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

/** Up to one row more than the page holds. */
export async function listApprovals(db: TenantDb, filter: ApprovalFilter, page: PageRequest): Promise<ApprovalRow[]> {
  let query = selectApprovals(db);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (filter.smithId !== undefined) query = query.where('smith_id', '=', filter.smithId);
  return pageById(query, 'approvals.id', page).execute();
}
