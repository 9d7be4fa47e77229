import { ApiError } from '../../../kernel/http/errors.ts';
import type { Delivery, Webhook } from './schema.ts';
import type { DeliveryRow, WebhookRow } from './store.ts';

export function renderWebhook(row: WebhookRow): Webhook {
  const { id, url, events, active, paused_reason } = row;
  return {
    id,
    url,
    events,
    active,
    failing_since: row.failing_since?.toISOString() ?? null,
    paused_reason,
    previous_secret_expires_at: row.previous_secret_expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function renderDelivery(row: DeliveryRow): Delivery {
  const { id, webhook_id, event_id, event_type, status, attempt_count, last_http_status, last_error } = row;
  return {
    ...{ id, webhook_id, event_id, event_type, status, attempt_count, last_http_status, last_error },
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function noSuchWebhook(): ApiError {
  return new ApiError('not_found', {
    message: 'The workspace has no such webhook. GET /webhooks lists what it has.',
  });
}
