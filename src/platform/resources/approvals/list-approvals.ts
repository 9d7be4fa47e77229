import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderApproval } from './render-approval.ts';
import type { ApprovalQuery } from './schema.ts';
import { listApprovals as listRows } from './store.ts';

export async function listApprovals({ db, caller, query }: ProjectRead<{ query: ApprovalQuery }>) {
  const page = readPage(query, [viewOf(caller), 'approvals']);
  const filter = { status: query.status, smithId: caller.kind === 'smith' ? caller.smithId : undefined };
  const { rows, isCut } = await listRows(db, filter, page);
  return pageReply(rows, page, (row) => row.id, renderApproval, isCut);
}
