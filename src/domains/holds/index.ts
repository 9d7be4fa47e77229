/** Whether names are out of the DNS, and why. */
export { applyHold } from './apply-hold.ts';
export { HOLD_REASONS, holdReasonsOf } from './hold.ts';
export { settleHolds } from './settle-holds.ts';
