/** Renewal of terms: what is said of it, and the scheduler that charges for it. */
export { findRenewalOrder, type RenewalOrder } from './renewal-order-store.ts';
export { type RenewalSubject, renewalOf } from './renewal-view.ts';
export { Renewal } from './schema.ts';
export type { RenewalFacts } from './term.ts';
export { addYears, isCapped } from './term-calendar.ts';
