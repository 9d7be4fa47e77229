import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseMemory, releaseMemoryNowAndThen } from './release-memory.ts';

const LOOK_EVERY_MS = 100;
const MEBIBYTE = 1_048_576;

test('memory is released once after the start, and again when a process that grew has come to rest', (t) => {
  let [nowMs, computedMs, busyMs, residentBytes] = [0, 0, 0, 100 * MEBIBYTE];
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.method(process, 'threadCpuUsage', (since?: NodeJS.CpuUsage) => ({
    user: computedMs * 1_000 - (since?.user ?? 0),
    system: 0,
  }));
  t.mock.method(performance, 'eventLoopUtilization', (since?: { readonly active: number; readonly idle: number }) => {
    const active = busyMs - (since?.active ?? 0);
    const idle = nowMs - busyMs - (since?.idle ?? 0);
    return { active, idle, utilization: active + idle === 0 ? 0 : active / (active + idle) };
  });
  t.mock.method(process.memoryUsage, 'rss', () => residentBytes);
  const done: string[] = [];
  const memory = releaseMemoryNowAndThen({
    afterStart: () => done.push('after the start'),
    atFirstRest: () => done.push('first rest'),
    atRest: () => done.push('rest'),
    lookEveryMs: LOOK_EVERY_MS,
  });
  t.after(() => memory.stop());
  /** As many looks, and the shares of the time between them in which the event loop is busy and the thread computes. */
  const look = (count: number, busy: number, computed: number) => {
    for (let looks = 0; looks < count; looks += 1) {
      nowMs += LOOK_EVERY_MS;
      busyMs += busy * LOOK_EVERY_MS;
      computedMs += computed * LOOK_EVERY_MS;
      t.mock.timers.tick(LOOK_EVERY_MS);
    }
  };
  look(6, 0.5, 0.5);
  assert.deepEqual(done, ['after the start'], 'what starting left goes from a process that is busy, too');
  residentBytes += 64 * MEBIBYTE;
  look(5, 0.5, 0.5);
  assert.deepEqual(done, ['after the start'], 'it was busy');
  // Others have the processors: what it does takes long, and it computes little.
  look(1, 0.5, 0.04);
  assert.deepEqual(done, ['after the start', 'first rest', 'rest']);
  look(5, 0.1, 0.1);
  const expected = ['after the start', 'first rest', 'rest', 'rest'];
  assert.deepEqual(done, expected, 'it came to rest, once more where that did not help, and grew no more');

  const timers = t.mock.method(globalThis, 'setTimeout');
  look(12, 0.1, 0.1);
  assert.ok(timers.mock.callCount() <= 2, `${timers.mock.callCount()} looks at a process that rests`);
  residentBytes += 64 * MEBIBYTE;
  for (let looks = 0; done.length === expected.length && looks < 6; looks += 1) look(1, 0.1, 0.1);
  assert.deepEqual(done, [...expected, 'rest'], 'what it has grown by meanwhile is released');
  look(1, 0.1, 0.1);
  assert.equal(done.length, expected.length + 2, 'the next look comes soon after a release');
});

test('what nothing refers to any more is given back to the system', () => {
  let garbage: object[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  assert.ok(garbage.length > 0);
  const grown = process.memoryUsage.rss();
  garbage = undefined;
  releaseMemory();
  assert.ok(grown - process.memoryUsage.rss() > 24 * MEBIBYTE, `${grown - process.memoryUsage.rss()} bytes`);
});
