import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { findOrder, NO_ORDER, type OrderRow } from '../../orders/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderOrder } from './render-order.ts';
import type { Order } from './schema.ts';

/** Throws `not_found`. */
export async function getOrder({
  caller,
  db,
  params,
}: WorkspaceRead<{ params: { order_id: string } }>): Promise<Order> {
  return renderOrder(await findOwnOrder(db, caller.workspaceId, params.order_id));
}

/** Throws `not_found`. */
export async function findOwnOrder(db: Database, workspaceId: string, id: string): Promise<OrderRow> {
  const row = await findOrder(workspaceDb(db, workspaceId), id);
  if (row === undefined) throw new ApiError('not_found', { message: NO_ORDER });
  return row;
}
