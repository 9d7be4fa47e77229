import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderOrder } from './render-order.ts';
import type { Order } from './schema.ts';

/** Throws `not_found`. */
export async function getOrder({
  caller,
  db,
  params,
}: WorkspaceRead<{ params: { order_id: string } }>): Promise<Order> {
  const orders = workspaceDb(db, caller.workspaceId).selectFrom('orders').selectAll();
  const row = await orders.where('id', '=', params.order_id).executeTakeFirst();
  if (row === undefined) {
    throw new ApiError('not_found', { message: 'The workspace has no such order. GET /orders lists what it has.' });
  }
  return renderOrder(row);
}
