import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { systemDb } from '../workspace-scope.ts';
import { listAttention } from './attention.ts';

const AUDIT_ORDERS = 'domains-audit-orders';
const AUDIT_CRON = '47 * * * *';
const COUNTED = 10_000;
const LISTED = 20;

export interface OrderAuditDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Tells the operator each hour, on some replica, of orders that need attention. Call before `jobs.start`. */
export function defineOrderAudit(jobs: Jobs, { db, logger, metrics }: OrderAuditDependencies): void {
  const found = storedGauge(
    { db, metrics },
    'domains_orders_needing_attention',
    'Orders that do not end by themselves, as the last look found; at most 10,000',
  );
  jobs.define(
    AUDIT_ORDERS,
    async () => {
      const orders = await listAttention(systemDb(db), COUNTED);
      await found.set(orders.length);
      if (orders.length === 0) return;
      const listed = orders.slice(0, LISTED).map(({ id, name, attention_reason: reason }) => ({ id, name, reason }));
      logger.error(
        { count: orders.length, orders: listed },
        'orders do not end by themselves; see `ironcraft domains order list`',
      );
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_ORDERS, AUDIT_CRON, {});
}
