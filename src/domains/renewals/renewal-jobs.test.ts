import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { defineRenewals, wakeRenewals } from './index.ts';

test('a wake-up runs the renewals once its transaction commits', async () => {
  const { db, close } = await openTestDatabase();
  const jobs = createJobs(db, { logger: { warn: () => undefined, error: () => undefined } });
  let onRun = (): void => undefined;
  defineRenewals(jobs, {
    async runDue() {
      onRun();
      return { looked: 0, charged: 0, isComplete: true };
    },
  });
  // Those of the schedule, which may be due at any moment, have another key.
  const countWoken = async () => {
    const { rows } = await db.query<{ count: number }>({
      text: `select count(*)::int as count from jobs.job where name = 'domains.renewals' and singleton_key = 'wake'`,
      values: [],
    });
    return rows[0]?.count;
  };
  await jobs.start();
  try {
    const undone = db.transaction(async (tx) => {
      await wakeRenewals(jobs, tx);
      throw new Error('undo');
    });
    await assert.rejects(undone, /undo/);
    assert.equal(await countWoken(), 0);
    const run = new Promise<void>((resolve) => {
      onRun = resolve;
    });
    await db.transaction((tx) => wakeRenewals(jobs, tx));
    assert.equal(await countWoken(), 1);
    await run;
  } finally {
    await jobs.stop({ graceMs: 1_000 });
    await close();
  }
});
