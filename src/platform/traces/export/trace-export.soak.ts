import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { createTraceExport } from '../index.ts';

test('taking note of a thousand runs that end takes less than 100 ms of computing when the queue is full', async () => {
  const store = await openTestDatabase();
  const traceExport = createTraceExport({
    db: store.db,
    logger: openTestLogger(),
    metrics: createMetrics(),
    collector: { url: 'http://127.0.0.1:9', headers: {} },
    maxQueued: 100,
  });
  const ms = await medianComputedMs(() => {
    for (let n = 0; n < 1_000; n += 1) traceExport.runEnded({ projectId: 'proj_x', runId: `run_${n}` });
  });
  assert.ok(ms < 100, `${ms} ms`);
  await traceExport.stop();
  await store.close();
});
