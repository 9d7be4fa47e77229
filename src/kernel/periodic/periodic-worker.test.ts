import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { createManualClock, type ManualClock, runWithClock } from '../clock/clock.ts';
import { StoreUse } from '../db/store-use.ts';
import { createPeriodicWorker, type PeriodicWorker, type PeriodicWorkerOptions } from './periodic-worker.ts';

/** Lets every promise that can settle do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

interface Scene {
  readonly clock: ManualClock;
  readonly worker: PeriodicWorker;
  /** When each pass began, in milliseconds. */
  readonly begun: number[];
  readonly logged: object[];
  /** What the next passes do; afterwards they succeed at once. */
  readonly outcomes: (() => Promise<void>)[];
  /** Signals that passes were given. */
  readonly signals: AbortSignal[];
  advance(ms: number): Promise<void>;
}

function createScene(options: Partial<PeriodicWorkerOptions> = {}): Scene {
  const clock = createManualClock(new Date(0));
  const [begun, logged, outcomes, signals]: [number[], object[], (() => Promise<void>)[], AbortSignal[]] = [
    [],
    [],
    [],
    [],
  ];
  const worker = runWithClock(clock, () =>
    createPeriodicWorker({
      name: 'test',
      intervalMs: 1_000,
      logger: { error: (fields) => logged.push(fields) },
      pass: async (signal) => {
        begun.push(clock.now().getTime());
        signals.push(signal);
        await outcomes.shift()?.();
      },
      ...options,
    }),
  );
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { clock, worker, begun, logged, outcomes, signals, advance };
}

const fail = () => Promise.reject(new Error('no'));

test('a pass runs at the start and after each interval', async () => {
  const { worker, begun, advance } = createScene();
  worker.start();
  assert.deepEqual(begun, [0], 'the first begins at once');
  await settle();
  await advance(999);
  assert.deepEqual(begun, [0]);
  await advance(1);
  await advance(1_000);
  assert.deepEqual(begun, [0, 1_000, 2_000]);
  await worker.stop();
});

test('a worker that does not start at once waits for its interval first', async () => {
  const { worker, begun, advance } = createScene({ startsAtOnce: false });
  worker.start();
  await settle();
  assert.deepEqual(begun, []);
  await advance(1_000);
  assert.deepEqual(begun, [1_000]);
  await worker.stop();
});

test('a worker without an interval runs a pass when it is woken, and repeats one that failed', async () => {
  const clock = createManualClock(new Date(0));
  const begun: number[] = [];
  const outcomes: (() => Promise<void>)[] = [];
  const worker = runWithClock(clock, () =>
    createPeriodicWorker({
      name: 'test',
      startsAtOnce: false,
      pass: async () => {
        begun.push(clock.now().getTime());
        await outcomes.shift()?.();
      },
    }),
  );
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  worker.start();
  await advance(3_600_000);
  assert.deepEqual(begun, []);
  worker.wake();
  await advance(3_600_000);
  assert.deepEqual(begun, [3_600_000]);
  outcomes.push(fail);
  worker.wake();
  await settle();
  for (let step = 0; step < 2_000; step += 1) await advance(1);
  assert.equal(begun.length, 3, 'one to two seconds later');
  await advance(3_600_000);
  assert.equal(begun.length, 3);
  await worker.stop();
});

test('a worker looks less and less often at a store that nobody uses, and at its interval from the next use on', async () => {
  const store = { use: new StoreUse() };
  const { worker, begun, advance } = createScene({ store });
  worker.start();
  await settle();
  for (let second = 0; second < 1_200; second += 1) await advance(1_000);
  assert.deepEqual(
    begun.map((ms) => ms / 1_000),
    [0, 2, 6, 14, 30, 62, 126, 254, 510, 810, 1_110],
  );
  await advance(10_000);
  begun.length = 0;
  store.use.note();
  await advance(999);
  assert.deepEqual(begun, []);
  await advance(1);
  assert.deepEqual(begun, [1_211_000], 'an interval after the use');
  for (let second = 0; second < 10; second += 1) {
    store.use.note();
    await advance(1_000);
  }
  assert.equal(begun.length, 11, 'at each interval while it is used');
  await worker.stop();
});

test('a pass that uses the store itself is followed by one after the interval', async () => {
  const store = { use: new StoreUse() };
  const { worker, begun, outcomes, advance } = createScene({ store });
  outcomes.push(
    async () => store.use.note(),
    async () => store.use.note(),
  );
  worker.start();
  await settle();
  for (let second = 0; second < 10; second += 1) await advance(1_000);
  assert.deepEqual(begun, [0, 1_000, 2_000, 4_000, 8_000]);
  await worker.stop();
});

test('a worker that is woken in a quiet store waits on as before', async () => {
  const store = { use: new StoreUse() };
  const { worker, begun, advance } = createScene({ store, quietMs: 4_000 });
  worker.start();
  await settle();
  for (let second = 0; second < 10; second += 1) await advance(1_000);
  begun.length = 0;
  worker.wake();
  await settle();
  for (let second = 0; second < 8; second += 1) await advance(1_000);
  assert.deepEqual(begun, [10_000, 14_000, 18_000]);
  await worker.stop();
});

test('a pass that knows when something is due is followed by one at that time, but no sooner than the interval', async () => {
  const store = { use: new StoreUse() };
  const clock = createManualClock(new Date(0));
  const begun: number[] = [];
  const dueInMs = [undefined, undefined, undefined, 12_345, -5_000, undefined];
  const worker = runWithClock(clock, () =>
    createPeriodicWorker({
      ...{ name: 'test', intervalMs: 1_000, store },
      pass: async () => {
        begun.push(clock.now().getTime());
        return dueInMs.shift();
      },
    }),
  );
  worker.start();
  for (let step = 0; step < 30_000 / 5; step += 1) {
    await settle();
    clock.advance(5);
  }
  // 2, 4 and 8 seconds; then what is due before the next 16 are over; then what stays due.
  assert.deepEqual(begun, [0, 2_000, 6_000, 14_000, 26_345, 27_345]);
  await worker.stop();
});

test('a pass that fails is repeated after the backoff, whatever wait the one before asked for', async () => {
  const clock = createManualClock(new Date(0));
  const begun: number[] = [];
  const outcomes: (() => Promise<number>)[] = [async () => 100, fail, async () => 100];
  const worker = runWithClock(clock, () =>
    createPeriodicWorker({
      name: 'test',
      backoff: { firstMs: 2_000, longestMs: 2_000 },
      pass: async () => {
        begun.push(clock.now().getTime());
        return outcomes.shift()?.();
      },
    }),
  );
  worker.start();
  for (let step = 0; step < 50; step += 1) {
    await settle();
    clock.advance(100);
  }
  await settle();
  assert.deepEqual(begun, [0, 100, 2_100, 2_200]);
  await worker.stop();
});

test('a worker that failed waits as it does after a failure, whether the store is used or not', async () => {
  const store = { use: new StoreUse() };
  const { worker, begun, outcomes, advance } = createScene({ store, backoff: { firstMs: 3_000, longestMs: 3_000 } });
  outcomes.push(fail);
  worker.start();
  await settle();
  store.use.note();
  for (let second = 0; second < 3; second += 1) await advance(1_000);
  assert.deepEqual(begun, [0, 3_000]);
  await worker.stop();
});

test('starting twice starts once', async () => {
  const { worker, begun, advance } = createScene();
  worker.start();
  worker.start();
  await settle();
  await advance(1_000);
  assert.deepEqual(begun, [0, 1_000]);
  await worker.stop();
});

test('the interval is counted from the end of a pass, which no second one overlaps', async () => {
  const { worker, begun, outcomes, advance } = createScene();
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  worker.start();
  await advance(5_000);
  assert.deepEqual(begun, [0]);
  long.resolve();
  await settle();
  await advance(999);
  assert.deepEqual(begun, [0]);
  await advance(1);
  assert.deepEqual(begun, [0, 6_000]);
  await worker.stop();
});

test('a wake-up brings the next pass forward, and the interval is counted from there', async () => {
  const { worker, begun, advance } = createScene();
  worker.start();
  await advance(400);
  worker.wake();
  await settle();
  assert.deepEqual(begun, [0, 400]);
  await advance(999);
  assert.deepEqual(begun, [0, 400]);
  await advance(1);
  assert.deepEqual(begun, [0, 400, 1_400]);
  await worker.stop();
});

test('wake-ups during a pass lead to one more, at once', async () => {
  const { worker, begun, outcomes, advance } = createScene();
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  worker.start();
  await advance(300);
  for (let count = 0; count < 5; count += 1) worker.wake();
  await settle();
  assert.deepEqual(begun, [0]);
  long.resolve();
  await settle();
  assert.deepEqual(begun, [0, 300]);
  await worker.stop();
});

test('a wake-up at any moment is followed by a pass that begins after it', async () => {
  const { worker, outcomes } = createScene();
  let begun = 0;
  const afterTicks = async (ticks: number) => {
    for (let tick = 0; tick < ticks; tick += 1) await undefined;
  };
  worker.start();
  await settle();
  for (let ticks = 0; ticks < 12; ticks += 1) {
    let woken = false;
    let seen = false;
    const look = async () => {
      begun += 1;
      seen ||= woken;
    };
    outcomes.push(look, look);
    worker.wake();
    await afterTicks(ticks);
    woken = true;
    worker.wake();
    await settle();
    assert.ok(seen, `woken ${ticks} microtasks into a pass`);
    outcomes.length = 0;
  }
  assert.ok(begun >= 12);
  await worker.stop();
});

test('failed passes are logged, and wait longer each time, up to the longest; one that succeeds ends that', async () => {
  const backoff = { firstMs: 2_000, longestMs: 5_000 };
  const { worker, begun, logged, outcomes, advance } = createScene({ backoff });
  outcomes.push(fail, fail, fail, fail);
  worker.start();
  for (let second = 0; second < 18; second += 1) {
    await settle();
    await advance(1_000);
  }
  assert.deepEqual(begun, [0, 2_000, 6_000, 11_000, 16_000, 17_000, 18_000]);
  assert.deepEqual(
    logged.map((fields) => ({ ...fields, err: undefined })),
    [1, 2, 3, 4].map((failures) => ({ err: undefined, worker: 'test', failures })),
  );
  await worker.stop();
});

test('unless told otherwise a failed pass is repeated after one to two intervals, and never after more than ten', async () => {
  const { worker, begun, outcomes, advance } = createScene();
  outcomes.push(...Array.from({ length: 20 }, () => fail));
  worker.start();
  for (let step = 0; step < 4_000; step += 1) await advance(50);
  const waits = begun.slice(1, 21).map((at, index) => at - (begun[index] ?? 0));
  assert.equal(waits.length, 20);
  const [first = 0] = waits;
  assert.ok(first >= 1_000 && first <= 2_050, `${first}`);
  assert.ok(
    waits.every((waitMs) => waitMs >= 1_000 && waitMs <= 10_050),
    `${waits}`,
  );
  assert.ok(new Set(waits.slice(5)).size > 1, 'jitter spreads them');
  await worker.stop();
});

test('a wake-up does not wait for the backoff', async () => {
  const { worker, begun, outcomes } = createScene();
  outcomes.push(fail);
  worker.start();
  await settle();
  worker.wake();
  await settle();
  assert.equal(begun.length, 2);
  await worker.stop();
});

test('a pass that throws before its first await has failed like any other', async () => {
  const pass = () => {
    throw new Error('at once');
  };
  const { worker, logged } = createScene({ pass });
  await assert.rejects(worker.runPass(), /at once/);
  worker.start();
  await settle();
  assert.equal(logged.length, 1);
  await worker.stop();
});

test('a pass by hand runs whether started or not, joins the one under way, and rejects as it does', async () => {
  const { worker, begun, outcomes, logged } = createScene();
  outcomes.push(fail);
  await assert.rejects(worker.runPass(), /^Error: no$/);
  assert.deepEqual(logged, [], 'the caller has the error');
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  worker.start();
  const joined = worker.runPass();
  assert.equal(worker.runPass(), joined);
  long.resolve();
  await joined;
  assert.equal(begun.length, 2);
  await worker.stop();
});

test('a wake-up during a pass by hand is followed by a pass', async () => {
  const { worker, begun, outcomes } = createScene();
  worker.start();
  await settle();
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  const byHand = worker.runPass();
  worker.wake();
  await settle();
  assert.equal(begun.length, 2);
  long.resolve();
  await byHand;
  await settle();
  assert.equal(begun.length, 3);
  await worker.stop();
});

test('stopping waits for the pass under way, tells it, and starts no further one', async () => {
  const { worker, begun, outcomes, signals, advance } = createScene();
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  worker.start();
  worker.wake();
  let isStopped = false;
  const stopped = worker.stop().then(() => {
    isStopped = true;
  });
  await settle();
  assert.deepEqual([signals[0]?.aborted, isStopped], [true, false]);
  long.resolve();
  await stopped;
  worker.wake();
  worker.start();
  await advance(10_000);
  assert.equal(begun.length, 1);
  await worker.stop();
});

test('stopping does not reject when the pass under way fails', async () => {
  const { worker, outcomes } = createScene();
  const long = Promise.withResolvers<void>();
  outcomes.push(() => long.promise);
  worker.start();
  const stopped = worker.stop();
  long.reject(new Error('cut off'));
  await stopped;
});

test('a worker that was never started, or that waits, stops at once', async () => {
  await createScene().worker.stop();
  const { worker, begun, advance } = createScene();
  worker.start();
  await settle();
  await worker.stop();
  await advance(10_000);
  assert.equal(begun.length, 1);
});

type Step = 'wake' | 'byHand' | 'advance' | 'settle' | 'end' | 'fail';
const steps = fc.array(fc.constantFrom<Step>('wake', 'byHand', 'advance', 'settle', 'end', 'fail'), { maxLength: 60 });

test('whatever happens in whatever order, passes never overlap and none runs after the stop', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const clock = createManualClock(new Date(0));
      let current: PromiseWithResolvers<void> | undefined;
      let isStopped = false;
      const pass = async () => {
        assert.ok(current === undefined && !isStopped);
        current = Promise.withResolvers<void>();
        await current.promise.finally(() => {
          current = undefined;
        });
      };
      const worker = runWithClock(clock, () => createPeriodicWorker({ name: 'test', intervalMs: 100, pass }));
      worker.start();
      for (const step of sequence) {
        if (step === 'wake') worker.wake();
        else if (step === 'byHand') worker.runPass().catch(() => undefined);
        else if (step === 'advance') clock.advance(1_000);
        else if (step === 'settle') await settle();
        else if (step === 'end') current?.resolve();
        else current?.reject(new Error('no'));
      }
      const stopped = worker.stop();
      current?.resolve();
      await stopped;
      isStopped = true;
      worker.wake();
      clock.advance(10_000);
      await settle();
    }),
  );
});

test('a started worker keeps no process alive', () => {
  const module = new URL('./periodic-worker.ts', import.meta.url).href;
  const script = `
    const { createPeriodicWorker } = await import(${JSON.stringify(module)});
    createPeriodicWorker({ name: 'idle', intervalMs: 3_600_000, pass: async () => undefined }).start();
  `;
  const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { timeout: 60_000 });
  assert.equal(ended.status, 0, String(ended.stderr));
});
