import type { ModelKey } from './schema.ts';
import type { ModelKeyRow } from './store.ts';

/** The public shape of a row. */
export function renderModelKey(row: ModelKeyRow): ModelKey {
  return { ...row, has_key: true, updated_at: row.updated_at.toISOString() };
}
