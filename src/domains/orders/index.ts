/** Spending calls: see order.ts for the states of an order. */

export { leaseAndAdvanceOrder } from './advance-order.ts';
export { requirePhase } from './applications.ts';
export { listAttention } from './attention.ts';
export { defineOrderAudit } from './audit-orders.ts';
export { buy, joinOrder, placeRenewal } from './buy.ts';
export type { OrderDependencies } from './dependencies.ts';
export type { OrderRow } from './order.ts';
export { createOrderWorker, type OrderWorker } from './order-worker.ts';
export { instrumentContext } from './pay-order.ts';
export { authCodeContext } from './place-order.ts';
export { requireAvailable } from './require-available.ts';
export { endByHand, findAnyOrder, isBeingCharged, isEnded, isWorkedOn, retryOrder } from './settle-by-hand.ts';
export { acceptNoticeOfOrder, NO_ORDER, noticePathOf } from './settle-launch.ts';
export { findLiveOrder, findOrder } from './store.ts';
export { adoptName, assignName, listUnassigned } from './unassigned-names.ts';
export { defineMessageAudit, dismissMessage, listUnknownMessages } from './unknown-messages.ts';
export { listUnreadableQueues } from './unreadable-queues.ts';
