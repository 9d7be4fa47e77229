/** Renewal of terms: its state as the API shows it, and the worker that charges for it. */

export { defineUnpaidAudit } from './audit-unpaid.ts';
export { defineRenewals, wakeRenewals } from './renewal-jobs.ts';
export { findRenewalOrder, type RenewalOrder } from './renewal-order-store.ts';
export { renewalOf } from './renewal-view.ts';
export {
  createRenewalWorker,
  type PlacedRenewal,
  type RenewalRequest,
  type RenewalWorker,
} from './renewal-worker.ts';
export { Renewal } from './schema.ts';
export type { RenewalFacts } from './term.ts';
export { chargeDeadline } from './term-calendar.ts';
export { createUnpaidNames, type UnpaidNames } from './unpaid-names.ts';
export { listUnpaidProblems } from './unpaid-store.ts';
