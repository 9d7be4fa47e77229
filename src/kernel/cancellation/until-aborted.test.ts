import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilAborted } from './until-aborted.ts';

const never = new Promise<never>(() => {});

test('work that ends in time is its outcome', async () => {
  const { signal } = new AbortController();
  assert.equal(await untilAborted(Promise.resolve('done'), signal), 'done');
  await assert.rejects(untilAborted(Promise.reject(new Error('broken')), signal), /broken/);
});

test('work that ignores the signal is waited for no longer', async () => {
  const stop = new AbortController();
  const waiting = untilAborted(never, stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(untilAborted(never, stop.signal), /enough/);
});

test('work that fails after that fails nothing else', async () => {
  const work = Promise.withResolvers<never>();
  await assert.rejects(untilAborted(work.promise, AbortSignal.abort(new Error('enough'))), /enough/);
  work.reject(new Error('late'));
  await new Promise((resolve) => setImmediate(resolve));
});
