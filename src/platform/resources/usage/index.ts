/** What other resources may ask of usage. */
export { readMonthOf } from './read-month.ts';
export { UsageAmounts } from './schema.ts';
