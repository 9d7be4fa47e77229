/** Tells the operator of names that the registry says we do not have, and closes the zones of those that left long ago. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { closeDueZones } from '../dns/index.ts';
import type { Registry } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import { areTooManyMissing, listMissing } from './missing-names.ts';

const AUDIT_NAMES = 'domains-audit-names';
const AUDIT_CRON = '27 * * * *';
const CLOSE_ZONES = 'domains-close-zones';
const CLOSE_CRON = '37 * * * *';
const ZONES_AT_ONCE = 200;
/** Enough for the operator to see what they have in common. */
const NAMES_LISTED = 20;
const COUNTED = 10_000;

export interface MissingNamesDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly registry: Pick<Registry, 'members'>;
}

/** Each hour on some replica. Call before `jobs.start`. */
export function defineMissingNames(
  jobs: Jobs,
  { db, clock, logger, metrics, registry }: MissingNamesDependencies,
): void {
  const missing = storedGauge(
    { db, metrics },
    'domains_missing_names',
    'Names of portfolios that the registry says are not ours, as the last look found; at most 10,000',
  );
  jobs.define(
    AUDIT_NAMES,
    async () => {
      const found = await listMissing(systemDb(db), COUNTED);
      await missing.set(found.length);
      if (found.length === 0) return;
      const names = found.slice(0, NAMES_LISTED).map(({ name }) => name);
      const stopped = await Promise.all(
        registry.members.map(async ({ id, zones }) => ((await areTooManyMissing(db, clock.now(), zones)) ? [id] : [])),
      );
      logger.error(
        { count: found.length, names, stopped: stopped.flat() },
        'the registry says of names of portfolios that they are not ours',
      );
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_NAMES, AUDIT_CRON, {});
  jobs.define(
    CLOSE_ZONES,
    async ({ signal }) => {
      while (!signal.aborted && (await closeDueZones(db, clock.now(), ZONES_AT_ONCE)) === ZONES_AT_ONCE);
    },
    { concurrency: 1 },
  );
  jobs.schedule(CLOSE_ZONES, CLOSE_CRON, {});
}
