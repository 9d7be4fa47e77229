/** The prepaid wallets of organizations: the ledger, what is paid into them, and what usage draws from them. */
export { auditWallets, defineWalletJobs } from './audit.ts';
export { type Autoreload, readAutoreload, updateAutoreload } from './autoreload.ts';
export { type Billing, createBilling } from './billing.ts';
export { type CreditStanding, type Credits, creditStandingSql, NO_CREDITS } from './credits.ts';
export { createDrawStatements, type DrawTerms, drawSql } from './draw-sql.ts';
export { book, listLedger, readBalance } from './ledger.ts';
export type { PaymentEvent } from './payments/card-payments.ts';
export { reloadWallet } from './payments/charge-card.ts';
export { tryCardPayments } from './payments/open-payments.ts';
export { confirmPage, openPage } from './payments/pages.ts';
export { createPaymentWorker } from './payments/payment-worker.ts';
export { receiveEvent } from './payments/receive-event.ts';
export { mintCodes, redeemCode } from './redeem-codes.ts';
export { readDrawSeries, readProjectUsage } from './wallet-usage.ts';
