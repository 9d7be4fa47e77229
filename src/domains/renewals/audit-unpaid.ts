/** Tells the operator of unpaid names that could not be suspended, restored or deleted: some of them will be billed. */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { systemDb } from '../workspace-scope.ts';
import { listUnpaidProblems } from './unpaid-store.ts';

const AUDIT_UNPAID = 'domains-audit-unpaid';
const AUDIT_CRON = '47 * * * *';
/** Enough for the operator to see what they have in common. */
const NAMES_LISTED = 20;
const COUNTED = 10_000;

interface UnpaidAuditDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Each hour on some replica. Call before `jobs.start`. */
export function defineUnpaidAudit(jobs: Jobs, { db, logger, metrics }: UnpaidAuditDependencies): void {
  const gauge = storedGauge(
    { db, metrics },
    'domains_unpaid_names_needing_attention',
    'Unpaid names that the registry has not let be suspended, restored or deleted, as the last look found; at most 10,000',
  );
  jobs.define(
    AUDIT_UNPAID,
    async () => {
      const found = await listUnpaidProblems(systemDb(db), COUNTED);
      await gauge.set(found.length);
      if (found.length === 0) return;
      const names = found.slice(0, NAMES_LISTED).map(({ name }) => name);
      logger.error({ count: found.length, names }, 'unpaid names need attention; see `ironcraft domains name unpaid`');
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_UNPAID, AUDIT_CRON, {});
}
