/** Bringing deleted names back: see quote-restoration.ts. */
export { missingYears, offerRestoration, quoteRestoration, requireRestorable } from './quote-restoration.ts';
