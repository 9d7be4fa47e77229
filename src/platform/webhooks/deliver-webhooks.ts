/** Webhooks at work on one replica: one worker fans the feed out, one sends what is due. */
import type { Database } from '../../kernel/db/database.ts';
import type { Worker } from '../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import { createPeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { onFeedChanged } from '../feed/follow-feed.ts';
import { DELIVERIES_CHANNEL } from './channel.ts';
import { Dispatcher } from './dispatcher.ts';
import { fanOut } from './fan-out.ts';
import { createWebhookSender, type WebhookSender } from './send-delivery.ts';

/** Wake-ups begin both at once; these look for what was lost, and for retries whose time has come. */
const FAN_OUT_INTERVAL_MS = 5_000;
const DISPATCH_INTERVAL_MS = 1_000;

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

export function createWebhookDeliveries(deps: WebhookDependencies): Worker {
  const { db, logger } = deps;
  const dispatcher = new Dispatcher({
    ...deps,
    send: deps.send ?? createWebhookSender(deps.outbound),
    onRoom: () => dispatches.wake(),
  });
  const dispatches = createPeriodicWorker({
    name: 'webhook dispatcher',
    intervalMs: DISPATCH_INTERVAL_MS,
    pass: (signal) => dispatcher.dispatch(signal),
    logger,
  });
  const fanOuts = createPeriodicWorker({
    name: 'webhook fan-out',
    intervalMs: FAN_OUT_INTERVAL_MS,
    pass: async (signal) => {
      if ((await fanOut(deps, signal)) === 0) return;
      dispatches.wake();
      db.wake(DELIVERIES_CHANNEL);
    },
    logger,
  });
  const listeners: (() => Promise<void>)[] = [];
  const stopLooking = async (): Promise<void> => {
    for (const stop of listeners.splice(0)) await stop();
    await Promise.all([fanOuts.stop(), dispatches.stop()]);
  };
  return {
    async start() {
      listeners.push(await onFeedChanged(db, () => fanOuts.wake()));
      const wake = () => dispatches.wake();
      listeners.push(await db.listen(DELIVERIES_CHANNEL, wake, wake));
      fanOuts.start();
      dispatches.start();
    },
    async drain(timeoutMs) {
      await stopLooking();
      const late = setTimeout(() => void dispatcher.stop(), timeoutMs);
      await dispatcher.drain();
      clearTimeout(late);
    },
    async stop() {
      await stopLooking();
      await dispatcher.stop();
    },
  };
}
