import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import type { Database } from '../db/database.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { createJobs } from './jobs.ts';
import { storedGauge } from './stored-gauge.ts';

describeOnEachStore('gauges that jobs measure', { sources: [] }, (current) => {
  it('show the last value on every replica, also on one that starts later', async (t) => {
    const { db, statements } = countStatements(current().db);
    const openReplica = () => {
      const metrics = createMetrics();
      const gauge = storedGauge({ db, metrics }, 'findings', 'What is wrong');
      storedGauge({ db, metrics }, 'others', 'What else is wrong');
      const readShown = async () => Number(/^findings (\d+)$/m.exec(await metrics.render())?.[1]);
      return { gauge, readShown };
    };
    const first = openReplica();
    assert.equal(await first.readShown(), 0, 'also before the jobs have made the table');
    const jobs = createJobs(db, { logger: openTestLogger() });
    await jobs.start();
    t.after(() => jobs.stop());
    await first.gauge.set(3);
    const before = statements();
    assert.equal(await first.readShown(), 3);
    assert.equal(statements() - before, 1, 'for all of a page');
    const second = openReplica();
    assert.equal(await second.readShown(), 3);
    await second.gauge.set(0);
    assert.deepEqual([await first.readShown(), await second.readShown()], [0, 0]);
  });
});

function countStatements(db: Database): { db: Database; statements: () => number } {
  let count = 0;
  const query: Database['query'] = (statement) => {
    count += 1;
    return db.query(statement);
  };
  return { db: Object.create(db, { query: { value: query } }), statements: () => count };
}
