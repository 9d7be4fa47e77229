/** Webhooks, their deliveries and the attempts of each. */
import type { Generated } from 'kysely';
import type { ProjectId, TableNames } from './columns.ts';

interface WebhooksTable {
  project_id: ProjectId;
  id: string;
  url: string;
  /** Types and families; none means all. */
  events: string[];
  active: Generated<boolean>;
  failing_since: Date | null;
  /** Where the platform paused it. */
  paused_reason: 'failing' | null;
  sealed_secret: string;
  sealed_previous_secret: string | null;
  previous_secret_expires_at: Date | null;
  sealed_earlier_secrets: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface WebhookDeliveriesTable {
  project_id: ProjectId;
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: Generated<'pending' | 'succeeded' | 'dead'>;
  attempt_count: Generated<number>;
  round: Generated<number>;
  misses: Generated<number>;
  last_http_status: number | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

interface WebhookAttemptsTable {
  project_id: ProjectId;
  delivery_id: string;
  number: number;
  at: Date;
  duration_ms: number;
  http_status: number | null;
  error: string | null;
}

export interface WebhooksTables {
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_attempts: WebhookAttemptsTable;
}

export const webhooksTables: TableNames<WebhooksTables> = {
  webhooks: true,
  webhook_deliveries: true,
  webhook_attempts: true,
};
