import type { InboundEvent } from './schema.ts';
import type { InboundEventRow } from './store.ts';

export function renderInboundEvent(row: InboundEventRow): InboundEvent {
  const { id, source, type, subject, idempotency_key, smith_id, data, created_at } = row;
  return { id, source, type, subject, idempotency_key, smith_id, data, created_at: created_at.toISOString() };
}
