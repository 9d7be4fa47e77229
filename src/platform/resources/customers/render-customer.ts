import type { Customer } from './schema.ts';
import type { CustomerRow } from './store.ts';

/** The public shape of a row. */
export function renderCustomer(row: CustomerRow): Customer {
  return { ...row, created_at: row.created_at.toISOString() };
}
