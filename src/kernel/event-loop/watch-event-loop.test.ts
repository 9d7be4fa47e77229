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
  let onLine = Promise.withResolvers<Line>();
  const logger = {
    warn(fields: object, message: string) {
      assert.equal(message, 'the event loop was blocked');
      lines.push(fields as Line);
      onLine.resolve(fields as Line);
      onLine = Promise.withResolvers();
    },
    isLevelEnabled: () => true,
  };
  const watched = watchEventLoop({ logger, onBlock: (ms) => blocks.push(ms), endAfterMs: 0, root, captureEveryMs });
  t.after(() => watched.stop());
  return { lines, blocks, nextLine: () => onLine.promise };
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

function matchBadly(): void {
  for (let round = 0; round < 40; round += 1) /^(?:a+)+$/.test(`${'a'.repeat(21)}b`);
}

test('a handler that blocks for 300 ms leads to one line, which names it, and is counted', async (t) => {
  const { nextLine, blocks } = watch(t);
  const { durationMs, stack } = await untilLine(nextLine(), spinForAWhile);
  assert.match(stack[0] ?? '', /^spinForAWhile@src\/kernel\/event-loop\/watch-event-loop\.test\.ts:\d+$/);
  assert.ok(durationMs !== undefined && durationMs >= 200, `${durationMs} ms`);
  assert.ok(blocks.length >= 1 && Math.round(blocks.at(-1) ?? 0) === durationMs);
});

test('a pattern that backtracks is caught in the act', async (t) => {
  const { nextLine } = watch(t);
  const { stack } = await untilLine(nextLine(), matchBadly);
  assert.match(stack[0] ?? '', /^matchBadly@/);
});

test('further blocks are counted, and told of with the next stack', async (t) => {
  const { lines, nextLine, blocks } = watch(t, { captureEveryMs: 2_000 });
  await untilLine(nextLine(), spinForAWhile);
  const next = nextLine();
  const before = blocks.length;
  const { blocks: told } = await untilLine(next, spinForAWhile);
  assert.equal(lines.length, 2);
  assert.ok(told > 1, 'several blocks, one line');
  assert.equal(told, blocks.length - before);
});

test('a process that stays blocked says by what, and is ended', async () => {
  const watchFile = JSON.stringify(new URL('./watch-event-loop.ts', import.meta.url).href);
  const program = `
    const { watchEventLoop } = await import(${watchFile});
    const logger = { warn() {}, isLevelEnabled: () => true };
    watchEventLoop({ logger, onBlock() {}, endAfterMs: 500, root: ${JSON.stringify(root)} });
    function hangForEver() { for (;;) Math.random(); }
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
  assert.ok(line.durationMs >= 500);
});
