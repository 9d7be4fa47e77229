/** What the kernel's dispatcher has to know of this service, and the sweep of what was delivered long ago. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { type ClaimedDelivery, sweepDeliveries, type WebhookTables } from '../../kernel/webhooks/delivery-store.ts';
import { createDispatchWorker, type DispatchWorker } from '../../kernel/webhooks/dispatch-worker.ts';
import { createWebhookSender } from '../../kernel/webhooks/send-delivery.ts';
import { appendEvent, DELIVERIES_CHANNEL } from './append-event.ts';
import { type EventRow, renderEvent } from './render-event.ts';

export interface DeliveryDependencies {
  readonly db: Database;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly outbound: Pick<Outbound, 'fetch'>;
}

const tables: WebhookTables = { schema: 'domains.', owner: 'workspace_id', eventColumns: ['data'] };
const SWEEP_DELIVERIES = 'domains.sweep-webhook-deliveries';

type EventColumns = Pick<EventRow, 'type' | 'data'>;

export function createWebhookDeliveries({ clock, outbound, ...deps }: DeliveryDependencies): DispatchWorker {
  return createDispatchWorker({
    ...deps,
    tables,
    channel: DELIVERIES_CHANNEL,
    now: () => clock.now(),
    send: createWebhookSender(outbound),
    renderBody: ({ owner_id, event_id, type, data, event_created_at }: ClaimedDelivery<EventColumns>) =>
      JSON.stringify(renderEvent(owner_id, { id: event_id, type, data, created_at: event_created_at })),
    async onPaused(tx: Transaction, workspaceId: string, webhookId: string) {
      const data = { webhook_id: webhookId, changed: ['active'], paused_reason: 'failing' };
      await appendEvent(tx, workspaceId, { type: 'webhook.updated', data });
    },
  });
}

/** Before the jobs are started. Events themselves are kept. */
export function defineDeliverySweep(jobs: Jobs, { db }: Pick<DeliveryDependencies, 'db'>): void {
  jobs.define(SWEEP_DELIVERIES, ({ signal }) => sweepDeliveries(db, tables, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_DELIVERIES, '37 * * * *', {});
}
