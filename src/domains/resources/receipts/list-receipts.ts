import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { listReceipts as listRows } from '../../receipts/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderReceipt } from './render-receipt.ts';
import type { ReceiptList } from './schema.ts';

export async function listReceipts({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<ReceiptList>> {
  const rows = await listRows(workspaceDb(db, caller.workspaceId), query.after, rowsOf(query));
  return listReply(query, rows, (shown, next_after) => ({ receipts: shown.map(renderReceipt), next_after }));
}
