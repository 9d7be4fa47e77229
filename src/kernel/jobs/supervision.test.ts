/** With the clock of the test, and a store that says whether a job is active. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createCountedClock } from '../../../test/support/counted-clock.ts';
import { runWithClock } from '../clock/clock.ts';
import { createSupervision, IDLE_MS, PASS_AT_LEAST_EVERY_MS } from './supervision.ts';

const INTERVAL_MS = 10_000;
const STEP_MS = 1_000;

function startSupervision() {
  const clock = createCountedClock();
  const store = {
    isActive: false,
    isAway: false,
    checks: 0,
    passes: 0,
    errors: 0,
    context: undefined as string | undefined,
  };
  const context = new AsyncLocalStorage<string>();
  const make = () =>
    createSupervision({
      db: {
        async query<Row>() {
          if (store.isAway) throw new Error('away');
          store.checks += 1;
          store.context = context.getStore();
          return { rows: [{ found: store.isActive } as Row], rowCount: 1 };
        },
      },
      logger: {
        warn: () => undefined,
        error: () => {
          store.errors += 1;
        },
      },
      async pass() {
        store.passes += 1;
      },
      intervalMs: INTERVAL_MS,
    });
  const supervision = runWithClock(clock, make);
  runWithClock(clock, () => supervision.start());
  return {
    clock,
    store,
    supervision,
    /** As a transaction would that enqueues a job. */
    expectJob: () => context.run('a transaction', () => supervision.expectJob()),
    async pass(ms: number) {
      for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
        clock.advance(STEP_MS);
        for (let turns = 0; turns < 5; turns += 1) await nextTurn();
      }
    },
  };
}

test('an idle queue is asked once a minute whether a job is active, and has no passes', async () => {
  const { store, pass } = startSupervision();
  await pass(INTERVAL_MS);
  assert.equal(store.checks, 1, 'a job may have been active when the process started');
  await pass(10 * IDLE_MS);
  assert.equal(store.checks, 11);
  assert.equal(store.passes, 0);
});

test('passes follow each other while a job is active', async () => {
  const { store, pass } = startSupervision();
  store.isActive = true;
  await pass(6 * INTERVAL_MS);
  assert.equal(store.passes, 6);
  store.isActive = false;
  await pass(INTERVAL_MS + 2 * IDLE_MS);
  assert.equal(store.passes, 6);
});

test('a job that is expected in an idle queue is looked for after one interval', async () => {
  const { store, pass, expectJob } = startSupervision();
  await pass(INTERVAL_MS + STEP_MS);
  expectJob();
  store.isActive = true;
  await pass(INTERVAL_MS - STEP_MS);
  expectJob();
  assert.equal(store.passes, 0);
  await pass(STEP_MS);
  assert.equal(store.passes, 1, 'further jobs do not put it off');
  assert.equal(store.context, undefined, 'the context of the announcement is left');
});

test('a job that nobody announced is found within a minute', async () => {
  const { store, pass } = startSupervision();
  await pass(INTERVAL_MS + STEP_MS);
  store.isActive = true;
  await pass(IDLE_MS);
  assert.equal(store.passes, 1);
});

test('an idle queue has a pass every half hour', async () => {
  const { store, pass } = startSupervision();
  await pass(2 * PASS_AT_LEAST_EVERY_MS + 2 * IDLE_MS);
  assert.equal(store.passes, 2);
});

test('a store that is away is asked again after one interval', async () => {
  const { store, pass } = startSupervision();
  store.isAway = true;
  await pass(2 * INTERVAL_MS);
  assert.equal(store.errors, 2);
  store.isAway = false;
  store.isActive = true;
  await pass(INTERVAL_MS);
  assert.equal(store.passes, 1);
});

test('a supervision that was stopped has no timer', async () => {
  const { clock, supervision, expectJob } = startSupervision();
  assert.equal(clock.countTimers(), 1);
  await supervision.stop();
  expectJob();
  assert.equal(clock.countTimers(), 0);
});
