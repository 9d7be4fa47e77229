import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { getOrder } from './get-order.ts';
import { listOrders } from './list-orders.ts';
import { Order, OrderList, OrderPath } from './schema.ts';

export function orderOperations() {
  return [
    workspace.read({
      id: 'orders.list',
      method: 'GET',
      path: `${BASE_PATH}/orders`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List orders',
      description: 'What was bought, by calls and by auto-renew, newest first.',
      query: ListQuery,
      reply: OrderList,
      handler: listOrders,
    }),
    workspace.read({
      id: 'orders.get',
      method: 'GET',
      path: `${BASE_PATH}/orders/{order_id}`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Get an order',
      description: '`order_id` of a spending call: what has become of it, and why it failed where it did.',
      params: OrderPath,
      reply: Order,
      handler: getOrder,
    }),
  ];
}
