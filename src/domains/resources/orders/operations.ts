import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { type AcceptDependencies, acceptNotice } from './accept-notice.ts';
import { getOrder } from './get-order.ts';
import { listOrders } from './list-orders.ts';
import { AcceptedNotice, Order, OrderList, OrderPath } from './schema.ts';

export function orderOperations(deps: AcceptDependencies) {
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
    workspace.turn({
      id: 'orders.accept_notice',
      method: 'POST',
      path: `${BASE_PATH}/orders/{order_id}/accept-notice`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Accept the notice that an order waits for',
      description:
        'Of an order with the status `NoticeRequired`: the registry was too busy, or away, when it was placed, and has said since that a trademark ' +
        'claims the domain. Show the notice of GET /claims-notices/{name}; once it is accepted the order goes on.',
      idempotent: true,
      params: OrderPath,
      body: AcceptedNotice,
      reply: Order,
      errors: ['registration_failed'],
      handler: acceptNotice(deps),
    }),
  ];
}
