import type { Delivery, Webhook } from './schema.ts';
import type { AttemptRow, DeliveryRow, WebhookRow } from './store.ts';

export function renderWebhook(row: WebhookRow): Webhook {
  const { failing_since, previous_secret_expires_at, created_at, updated_at, ...rest } = row;
  return {
    ...rest,
    failing_since: failing_since?.toISOString() ?? null,
    previous_secret_expires_at: previous_secret_expires_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

export function renderDelivery(row: DeliveryRow, attempts: readonly AttemptRow[]): Delivery {
  const { next_attempt_at, created_at, updated_at, ...rest } = row;
  return {
    ...rest,
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    attempts: attempts.map(({ delivery_id: _delivery, at, ...attempt }) => ({ ...attempt, at: at.toISOString() })),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
