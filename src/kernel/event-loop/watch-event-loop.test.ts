import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LINGER_MS, LOOK_MS, noteActivity } from './activity.ts';
import { watchEventLoop } from './watch-event-loop.ts';

const root = new URL('../../../', import.meta.url).href;

interface Line {
  readonly durationMs: number | undefined;
  readonly blocks: number;
  readonly stack: readonly string[];
}

/** Watches this process; gives each line as it comes. */
function watch(t: TestContext) {
  const blocks: number[] = [];
  let awaited: ((line: Line) => boolean) | undefined;
  let resolve: (line: Line) => void = () => undefined;
  const logger = {
    warn(fields: object, message: string) {
      assert.equal(message, 'the event loop was blocked');
      const line = fields as Line;
      if (awaited?.(line) === true) resolve(line);
    },
    isLevelEnabled: () => true,
  };
  const watched = watchEventLoop({ logger, onBlock: (ms) => blocks.push(ms), endAfterMs: 0, root, captureEveryMs: 0 });
  t.after(() => watched.stop());
  /** The next line whose innermost frame is such: on a busy machine other code is late, too. `isOver`: of a block that has ended. */
  const lineOf = (innermost: RegExp, { isOver = false } = {}) =>
    new Promise<Line>((found) => {
      resolve = found;
      awaited = ({ stack, durationMs }) => innermost.test(stack[0] ?? '') && (!isOver || durationMs !== undefined);
    });
  return { blocks, lineOf };
}

/** The thread has started when it captures a block: until then blocks are repeated. */
async function untilLine(next: Promise<Line>, block: () => void): Promise<Line> {
  let line: Line | undefined;
  void next.then((seen) => {
    line = seen;
  });
  // The watch keeps no process alive.
  const alive = setInterval(() => {
    if (line === undefined) block();
  }, 400);
  try {
    return await next;
  } finally {
    clearInterval(alive);
  }
}

const BLOCK_MS = 300;

/** Blocks without computing: the watch counts ticks, whatever keeps them from coming. */
function blockForAWhile(): void {
  const word = new Int32Array(new SharedArrayBuffer(4));
  for (const until = performance.now() + BLOCK_MS; performance.now() < until; ) Atomics.wait(word, 0, 0, 5);
}

function matchBadly(): void {
  for (const until = performance.now() + BLOCK_MS; performance.now() < until; ) /^(?:a+)+$/.test(`${'a'.repeat(21)}b`);
}

test('the watch names a handler that blocks the event loop, and counts its block', async (t) => {
  const { lineOf, blocks } = watch(t);
  const named = /^blockForAWhile@src\/kernel\/event-loop\/watch-event-loop\.test\.ts:\d+$/;
  const { durationMs } = await untilLine(lineOf(named, { isOver: true }), blockForAWhile);
  assert.ok(durationMs !== undefined);
  assert.ok(blocks.some((block) => Math.round(block) === durationMs));
});

test('the watch names a pattern that backtracks while it still does', async (t) => {
  const { lineOf } = watch(t);
  await untilLine(lineOf(/^matchBadly@/), matchBadly);
});

test('the main thread ticks every 50 ms while the process is active, and every 2 s while it is idle', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 0;
  let computedMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.method(performance, 'eventLoopUtilization', () => ({ active: computedMs, idle: nowMs, utilization: 0 }));
  const ticks = t.mock.method(Atomics, 'add');
  const countTicks = (ms: number) => {
    ticks.mock.resetCalls();
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      nowMs += 10;
      t.mock.timers.tick(10);
    }
    return ticks.mock.callCount();
  };
  const { blocks } = watch(t);
  assert.equal(countTicks(1_000), 20);
  countTicks(LINGER_MS + LOOK_MS);
  assert.equal(countTicks(60_000), 30);
  noteActivity();
  assert.equal(countTicks(1_000), 20);
  countTicks(LINGER_MS + LOOK_MS);
  computedMs += 500;
  countTicks(LOOK_MS);
  assert.equal(countTicks(1_000), 20, 'it computes unannounced');
  assert.deepEqual(blocks, [], 'no change of the pace is taken for a block');
});

test('a block that ends with the activity that it held up is counted', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.method(performance, 'eventLoopUtilization', () => ({ active: 0, idle: nowMs, utilization: 0 }));
  const { blocks } = watch(t);
  for (let looks = 0; looks < 5; looks += 1) {
    nowMs += LOOK_MS;
    t.mock.timers.tick(LOOK_MS);
  }
  blocks.length = 0;
  nowMs += LOOK_MS + 5_000;
  noteActivity();
  assert.deepEqual(blocks, [5_000]);
});

test('the watch says what blocks a process that stays blocked, and ends it', async () => {
  const watchFile = JSON.stringify(new URL('./watch-event-loop.ts', import.meta.url).href);
  const program = `
    const { watchEventLoop } = await import(${watchFile});
    const logger = { warn() {}, isLevelEnabled: () => true };
    watchEventLoop({ logger, onBlock() {}, endAfterMs: 2_000, root: ${JSON.stringify(root)} });
    const word = new Int32Array(new SharedArrayBuffer(4));
    function hangForEver() { for (;;) Atomics.wait(word, 0, 0, 5); }
    setTimeout(hangForEver, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(root),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [, signal] = await once(child, 'close');
  assert.equal(signal, 'SIGKILL');
  const line = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  assert.equal(line.level, 'fatal');
  assert.match(line.msg, /blocked for too long/);
  assert.match(line.stack[0], /^hangForEver@/);
  assert.ok(line.durationMs >= 2_000);
});
