import type { SuppressionRow } from '../../channels/index.ts';
import type { Suppression } from './schema.ts';

export function renderSuppression({ created_at, ...row }: SuppressionRow): Suppression {
  return { ...row, created_at: created_at.toISOString() };
}
