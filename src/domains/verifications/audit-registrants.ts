/** Tells the operator of registrants who were not reached, and of names that registries do not let be suspended or freed. */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';

const AUDIT_REGISTRANTS = 'domains-audit-registrants';
const AUDIT_CRON = '17 * * * *';

interface RegistrantAuditDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Each hour on some replica. Call before `jobs.start`. */
export function defineRegistrantAudit(jobs: Jobs, { db, logger, metrics }: RegistrantAuditDependencies): void {
  const gauge = storedGauge(
    { db, metrics },
    'domains_registrants_needing_attention',
    'Registrants who could not be asked to confirm their addresses, and names that registries have not let be suspended or freed, as the last look found',
  );
  jobs.define(
    AUDIT_REGISTRANTS,
    async () => {
      const count = await countProblems(db);
      await gauge.set(count);
      if (count === 0) return;
      logger.error({ count }, 'registrants need attention; see `ironcraft domains registrant list`');
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_REGISTRANTS, AUDIT_CRON, {});
}

async function countProblems(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: `
      select (
        (select count(*) from domains.registrant_verifications where verified_at is null and mail_problem is not null)
        + (select count(*) from domains.domains where state = 'active' and hold_look_at is not null and hold_problem is not null)
      )::int as count`,
    values: [],
  });
  return rows[0]?.count ?? 0;
}
