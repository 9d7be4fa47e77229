import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { serialize } from 'node:v8';
import { createMetrics } from '../metrics/metrics.ts';
import {
  ChildAnswerTooLargeError,
  ChildCrashedError,
  ChildOutOfMemoryError,
  ChildOutOfProcessorTimeError,
  ChildTimedOutError,
} from './child-errors.ts';
import { type ChildPoolOptions, createChildPool } from './child-pool.ts';

const MEBIBYTE = 1_048_576;
const TIMEOUT_MS = 60_000;
const LONG = { timeoutMs: TIMEOUT_MS };

/** A program whose answer to a message is the body's; `message` is the text of it. */
function programOf(body: string): URL {
  const source = `export async function answer(message) {\n${body}\n}`;
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}

const ECHO = programOf('return message;');
/** Answers "pid" with its process id and never answers "hang". */
const HANGS_ON_REQUEST = programOf(`
  if (message === 'hang') await new Promise(() => setInterval(() => {}, 1000));
  return process.pid;`);

/** Where memory and processor time of other processes are known. */
const ON_LINUX = { skip: process.platform !== 'linux' };

function openPool(program: URL, options: Partial<ChildPoolOptions> = {}) {
  const pool = createChildPool<unknown, unknown>({
    name: 'test pool',
    program,
    children: 1,
    heapBytes: 64 * MEBIBYTE,
    residentBytes: 512 * MEBIBYTE,
    answerBytes: MEBIBYTE,
    ...options,
  });
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.close() });
}

function isAlive(pid: number): boolean {
  try {
    // A process that has ended and was not waited for yet is none.
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('a child', () => {
  test('answers what it is asked, typed arrays too, and is used again', async () => {
    await using pool = openPool(ECHO);
    const message = { text: 'ä😀', list: [1, null], numbers: Float32Array.of(1.5, -2), bytes: Uint8Array.of(1, 2) };
    assert.deepEqual(await pool.run('a', message, LONG), message);
    const first = await pool.take('a');
    pool.giveBack(first);
    const second = await pool.take('b');
    assert.equal(first, second);
    pool.giveBack(second);
  });

  test('answers a second question while the first waits', async () => {
    await using pool = openPool(
      programOf(`
        if (message === 'held') await new Promise((resolve) => { globalThis.release = resolve; });
        if (message === 'release') globalThis.release();
        return message;`),
    );
    const child = await pool.take('a');
    const held = child.ask('held', LONG);
    assert.equal(await child.ask('quick', LONG), 'quick');
    assert.equal(await child.ask('release', LONG), 'release');
    assert.equal(await held, 'held');
    pool.giveBack(child);
  });

  test('takes and gives large messages in pieces', async () => {
    await using pool = openPool(ECHO, { answerBytes: 32 * MEBIBYTE });
    const large = { text: 'x'.repeat(3 * MEBIBYTE), numbers: new Float64Array(MEBIBYTE / 4).fill(0.5) };
    assert.deepEqual(await pool.run('a', large, LONG), large);
  });

  test('a child that fills its heap ends alone', async () => {
    await using pool = openPool(
      programOf('if (message !== "fill") return message; const kept = []; for (;;) kept.push({ kept });'),
      { heapBytes: 32 * MEBIBYTE },
    );
    await assert.rejects(pool.run('a', 'fill', LONG), (error) => {
      assert.ok(error instanceof ChildOutOfMemoryError, String(error));
      assert.deepEqual([error.limit, error.limitBytes], ['heap', 32 * MEBIBYTE]);
      return true;
    });
    assert.equal(await pool.run('a', 'next', LONG), 'next');
  });

  test('that holds too much outside of its heap is killed', ON_LINUX, async () => {
    await using pool = openPool(
      programOf(`
        const kept = [];
        for (;;) {
          kept.push(Buffer.alloc(8 * 1048576, 1));
          await new Promise((resolve) => setTimeout(resolve, 10));
        }`),
      { residentBytes: 256 * MEBIBYTE },
    );
    await assert.rejects(pool.run('a', 'grow', LONG), (error) => {
      assert.ok(error instanceof ChildOutOfMemoryError, String(error));
      assert.deepEqual([error.limit, error.limitBytes], ['resident', 256 * MEBIBYTE]);
      return true;
    });
  });

  test('that computes without end is killed when its time is up', async () => {
    await using pool = openPool(programOf('if (message === "loop") for (;;); return message;'));
    await pool.run('a', 'warm', LONG);
    await assert.rejects(pool.run('a', 'loop', { timeoutMs: 200 }), (error) => {
      assert.ok(error instanceof ChildTimedOutError, String(error));
      assert.equal(error.timeoutMs, 200);
      return true;
    });
    assert.equal(await pool.run('a', 'next', LONG), 'next');
  });

  test(
    'a child that uses more processor time than it was allowed is killed, and waiting is none',
    ON_LINUX,
    async () => {
      await using pool = openPool(
        programOf(`
        const startMs = performance.now();
        if (message === 'loop') while (performance.now() < startMs + 60_000);
        if (message === 'wait') await new Promise((resolve) => setTimeout(resolve, 300));
        if (message === 'steps') while (performance.now() < startMs + 20);
        return message;`),
      );
      const child = await pool.take('a');
      child.allowProcessorTime(150, child.processorMs);
      assert.equal(await child.ask('wait', LONG), 'wait');
      const before = child.processorMs;
      await assert.rejects(child.ask('loop', LONG), (error) => {
        assert.ok(error instanceof ChildOutOfProcessorTimeError, String(error));
        assert.equal(error.limitMs, 150);
        return true;
      });
      assert.ok(before > 0);
      pool.giveBack(child);
      // Of many short questions none is long enough to be measured in its middle.
      const other = await pool.take('a');
      other.allowProcessorTime(150, other.processorMs);
      await assert.rejects(async () => {
        for (let count = 0; count < 1_000; count++) await other.ask('steps', LONG);
      }, ChildOutOfProcessorTimeError);
      pool.giveBack(other);
    },
  );

  test('is killed when the caller has gone', async () => {
    await using pool = openPool(programOf('if (message === "loop") for (;;); return message;'));
    const controller = new AbortController();
    const looping = pool.run('a', 'loop', { ...LONG, signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(looping, /gone/);
  });

  test('a child whose answer is larger than an answer may be is ended, and one of just that size is taken', async () => {
    await using pool = openPool(programOf('return Buffer.alloc(message);'), { answerBytes: 100_000 });
    const answer = (bytes: number) => pool.run('a', bytes, LONG);
    const isTooLarge = (error: unknown) => error instanceof ChildAnswerTooLargeError && error.limitBytes === 100_000;
    // A buffer takes a few bytes more on the way.
    const sample = 99_000;
    const largest = 100_000 - (serialize({ kind: 'answer', id: 1, answer: Buffer.alloc(sample) }).length - sample);
    await answer(largest);
    await assert.rejects(answer(largest + 1), isTooLarge);
    await assert.rejects(answer(5 * MEBIBYTE), isTooLarge);
  });

  test('that crashes says why', async () => {
    await using pool = openPool(programOf('throw new Error("no such font");'));
    await assert.rejects(pool.run('a', 'crash', LONG), (error) => {
      assert.ok(error instanceof ChildCrashedError, String(error));
      assert.equal(error.exitCode, 1);
      assert.match(error.output, /no such font/);
      return true;
    });
  });

  test('that is killed from outside says by what', async () => {
    await using pool = openPool(programOf('process.abort();'));
    await assert.rejects(pool.run('a', 'abort', LONG), (error) => {
      assert.ok(error instanceof ChildCrashedError && error.signal === 'SIGABRT', String(error));
      return true;
    });
  });

  test('that prints without end costs no memory', async () => {
    await using pool = openPool(
      programOf(`
        const line = 'y'.repeat(65536);
        for (let count = 0; count < 500; count++) { process.stdout.write(line); console.error(line); console.log(line); }
        throw new Error('the end');`),
    );
    await assert.rejects(pool.run('a', 'print', LONG), (error) => {
      assert.ok(error instanceof ChildCrashedError, String(error));
      assert.match(error.output, /the end/);
      assert.ok(error.output.length <= 4_096);
      return true;
    });
  });

  test('whose program cannot be loaded fails its start, and the next try is another', async () => {
    await using pool = openPool(new URL('data:text/javascript,throw new Error("no model here")'));
    for (const _ of [1, 2]) {
      await assert.rejects(pool.run('a', 1, LONG), (error) => {
        assert.match(String(error), /cannot be started/);
        assert.match(String((error as Error).cause), /no model here/);
        return true;
      });
    }
  });
});

describe('the wall', () => {
  /** What each attempt comes to in a child: its result, or `refused`. */
  async function attempt(attempts: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
    const cases = Object.entries(attempts).map(
      ([name, body]) =>
        `out[${JSON.stringify(name)}] = await (async () => { ${body} })().then(String, () => 'refused');`,
    );
    await using pool = openPool(
      programOf(`
        const { createRequire } = await import('node:module');
        const require = createRequire('file:///any.js');
        const out = {};
        ${cases.join('\n')}
        return out;`),
    );
    return (await pool.run('a', '', LONG)) as Record<string, unknown>;
  }

  const allRefused = (attempts: object) => Object.fromEntries(Object.keys(attempts).map((name) => [name, 'refused']));

  test('keeps the environment from the child', async () => {
    assert.ok(Object.keys(process.env).length > 0);
    const seen = await attempt({ names: 'return Object.keys(process.env);' });
    assert.deepEqual(seen, { names: '' });
  });

  test('keeps the network from the child, on every way that leads to it', async () => {
    const attempts = {
      ...Object.fromEntries(
        ['net', 'http', 'https', 'http2', 'tls', 'dgram', 'dns', 'dns/promises'].flatMap((name) => [
          [`import node:${name}`, `await import('node:${name}');`],
          [`import ${name}`, `await import('${name}');`],
          [`require ${name}`, `require('${name}');`],
          [`require node:${name}`, `require('node:${name}');`],
          [`builtin ${name}`, `process.getBuiltinModule('${name}').name;`],
        ]),
      ),
      fetch: "await fetch('http://127.0.0.1:1');",
      WebSocket: "new WebSocket('ws://127.0.0.1:1');",
      EventSource: "new EventSource('http://127.0.0.1:1');",
      'process.binding': "process.binding('tcp_wrap');",
      'an open socket’s class': "new process.stderr.constructor().connect(1, '127.0.0.1');",
    };
    assert.deepEqual(await attempt(attempts), allRefused(attempts));
  });

  test('keeps files, programs, threads and signals from the child', async () => {
    const path = join(import.meta.dirname, 'written-by-a-child');
    const attempts = {
      'write a file': `require('node:fs').writeFileSync(${JSON.stringify(path)}, 'x');`,
      'write a file later': `await require('node:fs/promises').writeFile(${JSON.stringify(path)}, 'x');`,
      'read a file of the machine': "require('node:fs').readFileSync('/etc/hostname');",
      'list a folder of the machine': "require('node:fs').readdirSync('/');",
      child_process: "require('node:child_process');",
      worker_threads: "await import('node:worker_threads');",
      inspector: "require('node:inspector');",
      'process.kill': 'process.kill(process.ppid, 0);',
      'process.dlopen': "process.dlopen({ exports: {} }, '/any.node');",
      'a function of a text': "new Function('return 1')();",
    };
    assert.deepEqual(await attempt(attempts), allRefused(attempts));
    assert.ok(!existsSync(path));
  });

  test('lets a child make functions of texts where it needs to', async () => {
    await using pool = openPool(programOf('return new Function("return 6 * 7")();'), { evaluatesCode: true });
    assert.equal(await pool.run('a', '', LONG), 42);
  });

  test('offers the child to the kernel first when memory runs out', {
    skip: process.platform !== 'linux',
  }, async () => {
    await using pool = openPool(programOf('return process.pid;'));
    const pid = await pool.run('a', '', LONG);
    assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '1000');
    assert.equal(Number.parseInt(readFileSync(`/proc/${pid}/coredump_filter`, 'utf8'), 16), 0);
  });
});

describe('the process that starts children', ON_LINUX, () => {
  test('is one, a child of this process, and makes way for another when it dies', async () => {
    const program = programOf(
      'if (message === "hang") await new Promise(() => setInterval(() => {}, 1000)); return process.ppid;',
    );
    await using pool = openPool(program, { children: 2 });
    await using other = openPool(program);
    const starter = Number(await pool.run('a', '', LONG));
    assert.notEqual(starter, process.pid);
    assert.equal(await other.run('a', '', LONG), starter);
    assert.match(readFileSync(`/proc/${starter}/status`, 'utf8'), new RegExp(`^PPid:\\s+${process.pid}$`, 'm'));
    const hanging = [pool.run('a', 'hang', LONG), other.run('a', 'hang', LONG)];
    process.kill(starter, 'SIGKILL');
    // Together: whichever ends first is awaited by then.
    await Promise.all(hanging.map((each) => assert.rejects(each, ChildCrashedError)));
    const next = Number(await pool.run('a', '', LONG));
    assert.notEqual(next, starter);
    assert.equal(await other.run('a', '', LONG), next);
  });
});

describe('the pool', () => {
  test('lets keys take turns, however many one of them asks', async () => {
    await using pool = openPool(ECHO, { children: 1 });
    const first = await pool.take('many');
    const order: string[] = [];
    const ask = (key: string) => pool.run(key, key, LONG).then(() => order.push(key));
    const all = [...Array.from({ length: 5 }, () => ask('many')), ask('one'), ask('other'), ask('one')];
    pool.giveBack(first);
    await Promise.all(all);
    assert.deepEqual(order, ['many', 'one', 'other', 'many', 'one', 'many', 'many', 'many']);
  });

  test('keeps a child for others: no key has them all', async () => {
    await using pool = openPool(ECHO, { children: 3 });
    const held = [await pool.take('many'), await pool.take('many')];
    const third = pool.take('many');
    assert.equal(await pool.run('other', 'prompt', LONG), 'prompt');
    for (const child of held) pool.giveBack(child);
    pool.giveBack(await third);
  });

  test('forgets who no longer waits', async () => {
    await using pool = openPool(ECHO, { children: 1 });
    const held = await pool.take('a');
    const controller = new AbortController();
    const waiting = pool.take('b', controller.signal);
    controller.abort(new Error('gone'));
    await assert.rejects(waiting, /gone/);
    await assert.rejects(pool.take('b', controller.signal), /gone/);
    pool.giveBack(held);
    assert.equal(await pool.run('c', 'next', LONG), 'next');
  });

  test('starts no child before it is asked, and ends idle ones', async () => {
    const metrics = createMetrics();
    await using pool = openPool(HANGS_ON_REQUEST, { idleMs: 10, metrics });
    assert.match(await metrics.render(), /child_processes\{name="test pool"\} 0/);
    const child = await pool.take('a');
    assert.match(await metrics.render(), /child_processes\{name="test pool"\} 1/);
    if (process.platform === 'linux') {
      assert.match(await metrics.render(), /child_process_resident_bytes\{name="test pool"\} [1-9]\d{6,}/);
    }
    const gone = new Promise((resolve) => child.gone.addEventListener('abort', resolve, { once: true }));
    pool.giveBack(child);
    await gone;
    assert.match(await metrics.render(), /child_processes\{name="test pool"\} 0/);
    assert.match(await metrics.render(), /child_process_ends_total\{name="test pool",reason="done"\} 1/);
  });

  test('closes while children are at work, start and are waited for', async () => {
    const pool = openPool(HANGS_ON_REQUEST, { children: 2 });
    const pid = Number(await pool.run('a', 'pid', LONG));
    const asked = [pool.run('a', 'hang', LONG), pool.run('b', 'hang', LONG), pool.run('b', 'pid', LONG)];
    const refused = Promise.all(asked.map((each) => assert.rejects(each)));
    await pool.close();
    await refused;
    if (process.platform === 'linux') assert.ok(!isAlive(pid));
    await assert.rejects(pool.run('a', 'pid', LONG), /closed/);
    await pool.close();
  });

  /** A program of its own that opens a pool with ECHO's kin and does this with it. */
  function scriptOf(program: URL, body: string, options = ''): string {
    return `
      import { createChildPool } from ${JSON.stringify(new URL('./child-pool.ts', import.meta.url).href)};
      const pool = createChildPool({ name: 'x', program: new URL(${JSON.stringify(program.href)}), children: 1,
        heapBytes: 67108864, residentBytes: 536870912, answerBytes: 1048576, ${options} });
      ${body}`;
  }

  test('the pool keeps no process alive that has nothing else to do', async () => {
    // An idle child of it would live longer than the process may take.
    const script = scriptOf(
      ECHO,
      "console.log(await pool.run('a', 'hello', { timeoutMs: 60000 }));",
      `idleMs: ${10 * TIMEOUT_MS}`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: TIMEOUT_MS,
    });
    assert.equal(stdout, 'hello\n');
  });

  test('the pool leaves no child behind when its process is killed, not even one that computes without end', {
    skip: process.platform !== 'linux',
  }, async () => {
    const program = programOf(`
      if (message === 'loop') for (;;);
      if (message === 'hang') await new Promise(() => setInterval(() => {}, 1000));
      return process.pid;`);
    const script = scriptOf(
      program,
      `for (const busy of ['hang', 'loop']) {
         const child = await pool.take(busy);
         console.log(await child.ask('pid', { timeoutMs: 60000 }));
         void child.ask(busy, { timeoutMs: 600000 });
       }`,
      'children: 2',
    );
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
    const pids = [Number((await lines.next()).value), Number((await lines.next()).value)];
    assert.ok(pids.every(isAlive));
    parent.kill('SIGKILL');
    while (pids.some(isAlive)) await wait(5);
  });
});
