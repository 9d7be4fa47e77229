import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type AnswerOnceDependencies, answerOnce } from '../../answer-once.ts';
import { CHANGE_MS } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { acceptNoticeOfOrder, leaseAndAdvanceOrder, type OrderDependencies } from '../../orders/index.ts';
import { givenNotice } from '../claims-notices/index.ts';
import { findOwnOrder } from './get-order.ts';
import { renderOrder } from './render-order.ts';
import type { AcceptedNotice, Order } from './schema.ts';

export type AcceptDependencies = OrderDependencies & AnswerOnceDependencies;
type Request = WorkspaceTurn<{ params: { order_id: string }; body: AcceptedNotice }>;

/** The order as it is once the registry was asked again, or while it does not answer. Throws what `acceptNoticeOfOrder` throws. */
export function acceptNotice(deps: AcceptDependencies) {
  return (request: Request): Promise<HttpReply<Order>> =>
    answerOnce(deps, request, async () => {
      const { body, caller, params } = request;
      const { workspaceId } = caller;
      await acceptNoticeOfOrder(deps, caller, params.order_id, givenNotice(body.claims_notice));
      await deps.background.within(leaseAndAdvanceOrder(deps, workspaceId, params.order_id), CHANGE_MS);
      return renderOrder(await findOwnOrder(deps.db, workspaceId, params.order_id));
    });
}
