import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { watchEventLoop } from './watch-event-loop.ts';

const root = new URL('../../../', import.meta.url).href;

interface Line {
  readonly durationMs: number | undefined;
  readonly blocks: number;
  readonly stack: readonly string[];
}

/** Watches this process; gives each line as it comes. */
function watch(t: TestContext, { captureEveryMs = 0 }: { readonly captureEveryMs?: number } = {}) {
  const lines: Line[] = [];
  const blocks: number[] = [];
  let awaited: { readonly innermost: RegExp; readonly resolve: (line: Line) => void } | undefined;
  const logger = {
    warn(fields: object, message: string) {
      assert.equal(message, 'the event loop was blocked');
      const line = fields as Line;
      lines.push(line);
      if (awaited?.innermost.test(line.stack[0] ?? '') === true) awaited.resolve(line);
    },
    isLevelEnabled: () => true,
  };
  const watched = watchEventLoop({ logger, onBlock: (ms) => blocks.push(ms), endAfterMs: 0, root, captureEveryMs });
  t.after(() => watched.stop());
  /** The next line whose innermost frame is such: on a busy machine other code is late, too. */
  const lineOf = (innermost: RegExp) =>
    new Promise<Line>((resolve) => {
      awaited = { innermost, resolve };
    });
  return { lines, blocks, lineOf };
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

function spinForAWhile(ms = 300): void {
  const until = performance.now() + ms;
  while (performance.now() < until) Math.sqrt(until);
}

test('the watch writes one line that names a handler when it blocks for 300 ms, and counts it', async (t) => {
  const { lineOf, lines, blocks } = watch(t);
  const named = /^spinForAWhile@src\/kernel\/event-loop\/watch-event-loop\.soak\.ts:\d+$/;
  const { durationMs } = await untilLine(lineOf(named), spinForAWhile);
  assert.equal(lines.filter(({ stack }) => named.test(stack[0] ?? '')).length, 1);
  assert.ok(durationMs !== undefined && durationMs >= 200, `${durationMs} ms`);
  assert.ok(blocks.some((block) => Math.round(block) === durationMs));
});

test('the watch counts further blocks and tells of them with the next stack', async (t) => {
  const { lines, lineOf, blocks } = watch(t, { captureEveryMs: 2_000 });
  await untilLine(lineOf(/./), spinForAWhile);
  const next = lineOf(/./);
  const before = blocks.length;
  const { blocks: told } = await untilLine(next, spinForAWhile);
  assert.equal(lines.length, 2);
  assert.ok(told > 1, 'several blocks, one line');
  assert.equal(told, blocks.length - before);
});

test('the watch ends a process that was idle when it blocked, and says what blocks it', async () => {
  const watchFile = JSON.stringify(new URL('./watch-event-loop.ts', import.meta.url).href);
  const program = `
    const { watchEventLoop } = await import(${watchFile});
    const logger = { warn() {}, isLevelEnabled: () => true };
    watchEventLoop({ logger, onBlock() {}, endAfterMs: 5_000, root: ${JSON.stringify(root)} });
    const word = new Int32Array(new SharedArrayBuffer(4));
    function hangForEver() { for (;;) Atomics.wait(word, 0, 0, 5); }
    setTimeout(() => {
      process.stderr.write('hangs\\n');
      hangForEver();
    }, 10_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(root),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  let hungAtMs = 0;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr === '') hungAtMs = performance.now();
    stderr += text;
  });
  const [, signal] = await once(child, 'close');
  const tookMs = performance.now() - hungAtMs;
  assert.equal(signal, 'SIGKILL');
  const line = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  assert.equal(line.level, 'fatal');
  assert.match(line.stack[0], /^hangForEver@/);
  assert.ok(tookMs >= 3_000 && tookMs < 9_000, `${tookMs} ms`);
});
