import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { listBudgets as listRows } from '../../budgets/index.ts';
import { renderBudget } from './render-budget.ts';

export async function listBudgets({ db, caller, query }: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'budgets']);
  return pageReply(await listRows(db, page), page, (row) => row.id, renderBudget);
}
