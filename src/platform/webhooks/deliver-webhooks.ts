/** Webhooks at work on one replica: one worker fans the feed out, one sends what is due. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Worker } from '../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import { createPeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { ClaimedDelivery } from '../../kernel/webhooks/delivery-store.ts';
import { createDispatchWorker } from '../../kernel/webhooks/dispatch-worker.ts';
import { createWebhookSender, type WebhookSender } from '../../kernel/webhooks/send-delivery.ts';
import { appendEvent } from '../feed/append-event.ts';
import { onFeedChanged } from '../feed/follow-feed.ts';
import { type EventRow, renderEvent } from '../feed/render-event.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { DELIVERIES_CHANNEL } from './channel.ts';
import { fanOut } from './fan-out.ts';
import { webhookTables } from './webhook-tables.ts';

/** Wake-ups begin it at once; this looks for what was lost. */
const FAN_OUT_INTERVAL_MS = 5_000;

export interface WebhookDependencies {
  readonly db: Database;
  readonly vault: Vault;
  readonly outbound: Outbound;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Of due times and retries. */
  readonly now: () => Date;
  /** For tests. Default: over the outbound guard. */
  readonly send?: WebhookSender;
}

type EventColumns = Pick<EventRow, 'smith_id' | 'actor' | 'data'>;

/** What the dispatcher has of the platform. */
export const platformWebhooks = {
  tables: webhookTables,
  renderBody: (delivery: ClaimedDelivery<EventColumns>) =>
    JSON.stringify(
      renderEvent(delivery.owner_id, {
        ...delivery,
        id: delivery.event_id,
        created_at: delivery.event_created_at,
      }),
    ),
  async onPaused(tx: Transaction, projectId: string, webhookId: string): Promise<void> {
    await appendEvent(new TenantTransaction(tx, projectId), {
      type: 'webhook.updated',
      // Nobody's doing: the project's own.
      actor: { kind: 'tenant', id: projectId, token_id: '', email: '' },
      data: {
        webhook_id: webhookId,
        changed: ['active'],
        secret_rotated: false,
        previous_secret_expires_at: null,
        paused_reason: 'failing',
      },
    });
  },
};

export function createWebhookDeliveries(deps: WebhookDependencies): Worker {
  const { db, logger } = deps;
  const dispatches = createDispatchWorker({
    ...deps,
    ...platformWebhooks,
    channel: DELIVERIES_CHANNEL,
    send: deps.send ?? createWebhookSender(deps.outbound),
  });
  const fanOuts = createPeriodicWorker({
    name: 'webhook fan-out',
    intervalMs: FAN_OUT_INTERVAL_MS,
    store: db,
    pass: async (signal) => {
      const { written, expectsMore } = await fanOut(deps, signal);
      if (written > 0) {
        dispatches.wake();
        db.wake(DELIVERIES_CHANNEL);
      }
      return expectsMore ? 0 : undefined;
    },
    logger,
  });
  let stopListening: (() => Promise<void>) | undefined;
  const stopLooking = async (): Promise<void> => {
    await stopListening?.();
    stopListening = undefined;
    await fanOuts.stop();
  };
  return {
    async start() {
      stopListening = await onFeedChanged(db, () => fanOuts.wake());
      await dispatches.start();
      fanOuts.start();
    },
    async drain(timeoutMs) {
      await Promise.all([stopLooking(), dispatches.drain(timeoutMs)]);
    },
    async stop() {
      await Promise.all([stopLooking(), dispatches.stop()]);
    },
  };
}
