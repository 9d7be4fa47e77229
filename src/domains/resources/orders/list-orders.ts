import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderOrder } from './render-order.ts';
import type { OrderList } from './schema.ts';

export async function listOrders({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<OrderList>> {
  // Ids are in the order in which they were made.
  let page = workspaceDb(db, caller.workspaceId).selectFrom('orders').selectAll().orderBy('id', 'desc');
  if (query.after !== undefined) page = page.where('id', '<', query.after);
  const rows = await page.limit(rowsOf(query)).execute();
  return listReply(query, rows, (shown, next_after) => ({ orders: shown.map(renderOrder), next_after }));
}
