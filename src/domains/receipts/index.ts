/** Receipts of payments. */
export { defineReceipts, issueReceipts } from './issue-receipts.ts';
export { percentOf, renderReceiptPdf } from './receipt-pdf.ts';
export type { Seller } from './seller.ts';
export { findReceipt, listReceipts, type ReceiptRow } from './store.ts';
