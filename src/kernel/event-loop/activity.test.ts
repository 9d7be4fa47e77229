/** With the timers, the clock and the computing time of the test. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, mock, type TestContext, test } from 'node:test';
import { type Activity, BUSY_MS, createActivity, LINGER_MS, LOOK_MS } from './activity.ts';

/** More than any test waits. */
const LONG_MS = 20 * LOOK_MS;

let nowMs: number;
let computedMs: number;
let activity: Activity;
beforeEach(() => {
  nowMs = 0;
  computedMs = 0;
  mock.timers.enable({ apis: ['setInterval'] });
  mock.method(performance, 'now', () => nowMs);
  mock.method(performance, 'eventLoopUtilization', () => ({ active: computedMs, idle: nowMs, utilization: 0 }));
  activity = createActivity();
});
afterEach(() => {
  mock.restoreAll();
  mock.timers.reset();
});

/** What the follower is told, in order. */
function follow(t: TestContext): string[] {
  const told: string[] = [];
  t.after(activity.follow({ start: () => told.push('start'), stop: () => told.push('stop') }));
  return told;
}

function pass(ms: number, computedShare = 0): void {
  const stepMs = LOOK_MS / 4;
  for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
    nowMs += stepMs;
    computedMs += computedShare * stepMs;
    mock.timers.tick(stepMs);
  }
}

test('a follower starts at once and stops when nothing has happened for a while', (t) => {
  const told = follow(t);
  assert.deepEqual(told, ['start']);
  pass(LINGER_MS + LOOK_MS);
  assert.deepEqual(told, ['start', 'stop']);
  pass(LONG_MS);
  assert.deepEqual(told, ['start', 'stop'], 'an idle process stays idle');
});

test('a follower starts again before noted activity goes on, and stays while more is noted', (t) => {
  const told = follow(t);
  pass(LONG_MS);
  activity.note();
  assert.deepEqual(told, ['start', 'stop', 'start']);
  for (const untilMs = nowMs + LONG_MS; nowMs < untilMs; pass(LINGER_MS / 2)) activity.note();
  assert.deepEqual(told, ['start', 'stop', 'start']);
  pass(LINGER_MS + LOOK_MS);
  assert.deepEqual(told, ['start', 'stop', 'start', 'stop']);
});

test('a follower runs while work is in progress and for a moment after it', (t) => {
  const told = follow(t);
  pass(LONG_MS);
  const end = activity.begin();
  const endOther = activity.begin();
  pass(LONG_MS);
  end();
  pass(LONG_MS);
  assert.deepEqual(told, ['start', 'stop', 'start']);
  endOther();
  pass(LINGER_MS / 2);
  assert.deepEqual(told, ['start', 'stop', 'start']);
  pass(LINGER_MS + LOOK_MS);
  assert.deepEqual(told, ['start', 'stop', 'start', 'stop']);
});

test('work that goes on for longer than its limit no longer counts', (t) => {
  const told = follow(t);
  const end = activity.begin(LONG_MS);
  pass(LONG_MS - LOOK_MS);
  assert.deepEqual(told, ['start']);
  pass(2 * LOOK_MS);
  assert.deepEqual(told, ['start', 'stop']);
  end();
  assert.deepEqual(told, ['start', 'stop'], 'its end is no activity');
});

test('a follower starts when the event loop has computed unannounced, and stops when it no longer does', (t) => {
  const told = follow(t);
  pass(LONG_MS, (0.9 * BUSY_MS) / LOOK_MS);
  assert.deepEqual(told, ['start', 'stop'], 'too little to have been a block');
  pass(LOOK_MS, (1.1 * BUSY_MS) / LOOK_MS);
  assert.deepEqual(told, ['start', 'stop', 'start']);
  pass(LONG_MS, (1.1 * BUSY_MS) / LOOK_MS);
  assert.deepEqual(told, ['start', 'stop', 'start']);
  pass(2 * LOOK_MS);
  assert.deepEqual(told, ['start', 'stop', 'start', 'stop']);
});

test('a second follower starts with activity as the first does, and each ends by itself', (t) => {
  const first = follow(t);
  pass(LONG_MS);
  const second: string[] = [];
  const end = activity.follow({ start: () => second.push('start'), stop: () => second.push('stop') });
  assert.deepEqual([first, second], [['start', 'stop', 'start'], ['start']]);
  end();
  pass(LONG_MS);
  assert.deepEqual(
    [first, second],
    [
      ['start', 'stop', 'start', 'stop'],
      ['start', 'stop'],
    ],
  );
});

test('a follower is started outside the async context of the activity', (t) => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  t.after(activity.follow({ start: () => seen.push(context.getStore()), stop: () => undefined }));
  pass(LONG_MS);
  context.run('a request', () => activity.note());
  assert.deepEqual(seen, [undefined, undefined]);
});

test('activity has a timer only while it has a follower', () => {
  const intervals = mock.method(globalThis, 'setInterval');
  const cleared = mock.method(globalThis, 'clearInterval');
  activity.note();
  activity.begin()();
  assert.equal(intervals.mock.callCount(), 0);
  activity.follow({ start: () => undefined, stop: () => undefined })();
  assert.deepEqual([intervals.mock.callCount(), cleared.mock.callCount()], [1, 1]);
});
