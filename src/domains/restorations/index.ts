/** Bringing deleted names back: see quote-restoration.ts. */
export { offerRestoration, quoteRestoration } from './quote-restoration.ts';
