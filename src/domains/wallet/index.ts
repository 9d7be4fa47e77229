/** The wallet as other parts use it. */
export {
  type AutoTopUpRow,
  findNextTopUpLook,
  findSettings,
  lockSettings,
  monthOf,
  runAutoTopUps,
  sumCharges,
} from './auto-top-up/index.ts';
export { isDisputed, listDisputes, mailDisputes, receiveDispute } from './disputes/index.ts';
export { chargeRefunded, readRefunded, refundName } from './grace-refunds.ts';
export {
  capture,
  captureApplication,
  credit,
  hold,
  holdCharge,
  openWallet,
  readWallet,
  refundHeld,
  release,
  requireNoDebt,
} from './ledger.ts';
export { auditLedger, defineLedgerAudit } from './ledger-audit.ts';
export { openPayments, tryCardPayments } from './payments/open-payments.ts';
export { openTopUpPage, readTopUpAmount, type TopUpPage } from './payments/top-up-page.ts';
export { definePayments, insertTopUp, settleTopUps } from './payments/top-ups.ts';
export { unconfiguredPayments } from './payments/unconfigured-payments.ts';
export { listPlayCredit, type PlayCredit, voidPlayCredit } from './play-credit.ts';
