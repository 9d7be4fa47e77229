/** With the clock of the test, and a queue of one job. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PgBoss } from 'pg-boss';
import { createCountedClock } from '../../../test/support/counted-clock.ts';
import { runWithClock } from '../clock/clock.ts';
import type { Database } from '../db/database.ts';
import { QueueRunner } from './queue-runner.ts';
import { SuspectQueue } from './suspect-queue.ts';

const HEARTBEAT_MS = 15_000;
const turns = async () => {
  for (let count = 0; count < 10; count += 1) await nextTurn();
};

/** A runner that has started; its job ends when told. */
function startRunner() {
  const clock = createCountedClock();
  const finished = Promise.withResolvers<void>();
  let jobs: readonly object[] = [{ id: '1', data: {}, retryCount: 0, expireInSeconds: 900 }];
  const told = { touches: 0, failing: false };
  const boss = {
    async fetch() {
      const fetched = jobs;
      jobs = [];
      return fetched;
    },
    async touch() {
      told.touches += 1;
      if (told.failing) throw new Error('the store is away');
    },
    complete: async () => undefined,
  } as unknown as PgBoss;
  const db = { query: async () => ({ rows: [], rowCount: 0 }) } as unknown as Database;
  const runner = runWithClock(clock, () => {
    const made = new QueueRunner(boss, 'mail', () => finished.promise, {
      db,
      logger: { warn: () => undefined, error: () => undefined },
      suspects: new SuspectQueue(),
      concurrency: 5,
      concurrencyPerGroup: 5,
      retryLimit: 3,
      abruptEndLimit: 2,
      heartbeatMs: HEARTBEAT_MS,
      processesKeepEnding: async () => false,
      holdJob: () => () => undefined,
    });
    made.start();
    return made;
  });
  const idleTimers = clock.countTimers();
  /** Beyond those of a runner without a job. */
  return { clock, runner, told, finished, countTimers: () => clock.countTimers() - idleTimers };
}

test('a runner sends heartbeats only while a job runs', async (t) => {
  const { clock, runner, told, finished, countTimers } = startRunner();
  t.after(() => runner.stop(0));
  await turns();
  clock.advance(2 * HEARTBEAT_MS);
  assert.equal(countTimers(), 0);
  runner.wake();
  await turns();
  assert.equal(countTimers(), 2, 'the heartbeat, and the limit of the job');
  clock.advance(HEARTBEAT_MS);
  assert.equal(told.touches, 3);
  finished.resolve();
  await turns();
  clock.advance(HEARTBEAT_MS);
  await turns();
  assert.equal(told.touches, 3);
  assert.equal(countTimers(), 0);
});

test('a runner whose heartbeat has failed goes on until the store knows of it', async (t) => {
  const { clock, runner, told, finished, countTimers } = startRunner();
  t.after(() => runner.stop(0));
  runner.wake();
  await turns();
  told.failing = true;
  clock.advance(HEARTBEAT_MS / 3);
  await turns();
  finished.resolve();
  await turns();
  assert.equal(countTimers(), 1);
  clock.advance(HEARTBEAT_MS / 3);
  await turns();
  clock.advance(HEARTBEAT_MS / 3);
  await turns();
  assert.equal(countTimers(), 0);
});
