import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { defineRenewals, wakeRenewals } from './index.ts';

test('a wake-up runs the renewals once its transaction commits', async () => {
  const { db, close } = await openTestDatabase();
  const { promise: looked, resolve } = Promise.withResolvers<void>();
  const jobs = createJobs(db, { logger: { warn: () => undefined, error: () => undefined } });
  let runs = 0;
  defineRenewals(jobs, {
    async runDue() {
      runs += 1;
      resolve();
      return { looked: 0, charged: 0, isComplete: true };
    },
  });
  await jobs.start();
  try {
    const undone = db.transaction(async (tx) => {
      await wakeRenewals(jobs, tx);
      throw new Error('undo');
    });
    await assert.rejects(undone, /undo/);
    assert.equal(runs, 0);
    await db.transaction((tx) => wakeRenewals(jobs, tx));
    await looked;
  } finally {
    await jobs.stop({ graceMs: 1_000 });
    await close();
  }
});
