import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { insertZone } from '../../../test/support/dnssec-zones.ts';
import { TermRegistry } from '../../../test/support/term-registry.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createManualClock } from '../../kernel/clock/clock.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { createMetrics } from '../../kernel/metrics/metrics.ts';
import { findZone } from '../dns/zone-store.ts';
import { systemDb } from '../workspace-scope.ts';
import { defineMissingNames } from './index.ts';
import { retireDomain } from './record-info.ts';

test('the jobs tell of missing names, and close the zones of names that were retired 60 days ago', async (t) => {
  const { db, close } = await openTestDatabase();
  t.after(close);
  const clock = createManualClock(new Date('2027-03-01T12:00:00Z'));
  const { promise: logged, resolve } = Promise.withResolvers<object>();
  const logger = Object.assign(openTestLogger(), { error: resolve });
  const metrics = createMetrics();
  const jobs = createJobs(db, { logger });
  defineMissingNames(jobs, { db, clock, logger, metrics, registry: new TermRegistry().asPort() });
  assert.match(await metrics.render(), /^domains_missing_names 0$/m);
  const [retired, young] = [await insertZone(db, 'retired.com'), await insertZone(db, 'young.com')];
  await db.transaction((tx) => retireDomain(tx, retired, clock.now()));
  clock.advance(60 * 86_400_000);
  await db.transaction((tx) => retireDomain(tx, young, clock.now()));
  for (const name of ['lost-one.com', 'lost-two.com']) {
    const { domainId } = await insertZone(db, name);
    const missing = { missing_since: clock.now(), missing_seen_at: clock.now(), missing_sightings: 1 };
    await systemDb(db).updateTable('domains').set(missing).where('id', '=', domainId).execute();
  }
  await jobs.start();
  t.after(() => jobs.stop());
  await jobs.enqueue(db, 'domains-audit-names', {});
  assert.deepEqual(await logged, { count: 2, names: ['lost-one.com', 'lost-two.com'], stopped: ['terms'] });
  assert.match(await metrics.render(), /^domains_missing_names 2$/m);
  await jobs.enqueue(db, 'domains-close-zones', {});
  const isClosed = async () => ((await findZone(db, 'retired.com'))?.isClosed === true ? true : undefined);
  await eventually(isClosed, 'the zone is closed');
  assert.equal((await findZone(db, 'young.com'))?.isClosed, false);
});
