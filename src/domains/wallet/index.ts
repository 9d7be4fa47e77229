/** The wallet as other parts use it. */
export {
  type Credit,
  capture,
  credit,
  type Hold,
  hold,
  holdCharge,
  type OrderOfWorkspace,
  openWallet,
  readWallet,
  refundHeld,
  release,
  type Wallet,
} from './ledger.ts';
export { auditLedger, defineLedgerAudit } from './ledger-audit.ts';
export { type OpenPaymentsOptions, openPayments } from './payments/open-payments.ts';
export { definePayments, insertTopUp, settleTopUps } from './payments/top-ups.ts';
export { unconfiguredPayments } from './payments/unconfigured-payments.ts';
