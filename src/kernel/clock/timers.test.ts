import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, mock, test } from 'node:test';
import nodeTimers from 'node:timers/promises';
import { createManualClock, runWithClock, type TurnedClock, turnedClock } from './clock.ts';
import { abortAfter, createPausableTicker, elapsedMs, setTicker, setTimer, sleep } from './timers.ts';

const start = new Date('2026-01-01T00:00:00Z');

describe('on the system’s clock', () => {
  test('a timer fires once, unless it is cancelled', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const fired: string[] = [];
    setTimer(() => fired.push('cancelled'), 5).cancel();
    setTimer(() => fired.push('kept'), 5);
    t.mock.timers.tick(4);
    assert.deepEqual(fired, []);
    t.mock.timers.tick(20);
    assert.deepEqual(fired, ['kept']);
  });

  test('a ticker fires until it is cancelled', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let ticks = 0;
    const ticker = setTicker(() => {
      ticks += 1;
    }, 10);
    t.mock.timers.tick(30);
    ticker.cancel();
    t.mock.timers.tick(30);
    assert.equal(ticks, 3);
  });

  test('a pausable ticker has a timer only between resume and pause', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const set = t.mock.method(globalThis, 'setInterval');
    let ticks = 0;
    const ticker = createPausableTicker(() => {
      ticks += 1;
    }, 10);
    t.mock.timers.tick(30);
    assert.deepEqual([ticks, set.mock.callCount()], [0, 0]);
    ticker.resume();
    t.mock.timers.tick(15);
    ticker.resume();
    t.mock.timers.tick(15);
    assert.deepEqual([ticks, set.mock.callCount()], [3, 1]);
    ticker.pause();
    ticker.pause();
    t.mock.timers.tick(30);
    assert.equal(ticks, 3);
    ticker.resume();
    t.mock.timers.tick(10);
    assert.equal(ticks, 4);
    ticker.pause();
  });

  test('a restarted timer fires again', async () => {
    let fired = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimer(
      () => {
        fired += 1;
        if (fired < 3) timer.restart();
        else resolve();
      },
      1,
      { keepsProcess: true },
    );
    await promise;
  });

  test('a sleep and a deadline are Node’s own', async () => {
    const never = AbortSignal.abort(new Error('not wanted'));
    const expected = await nodeTimers.setTimeout(1, undefined, { signal: never }).catch((error: unknown) => error);
    await assert.rejects(sleep(1, never), expected as Error);
    const signal = abortAfter(1);
    await sleep(60_000, signal).catch(() => undefined);
    assert.equal(signal.reason.name, 'TimeoutError');
  });

  const holds: readonly [work: string, status: string][] = [
    ['setTimer(() => console.log("fired"), 50)', ''],
    ['setTimer(() => console.log("fired"), 50, { keepsProcess: true })', 'fired\n'],
    ['setTicker(() => console.log("fired"), 50)', ''],
    [
      'const ticker = setTicker(() => { console.log("fired"); ticker.cancel(); }, 50, { keepsProcess: true })',
      'fired\n',
    ],
    ['void sleep(50).then(() => console.log("fired"))', 'fired\n'],
    ['void sleep(50, undefined, { keepsProcess: false }).then(() => console.log("fired"))', ''],
    ['abortAfter(50).addEventListener("abort", () => console.log("fired"))', ''],
  ];
  for (const [work, output] of holds) {
    test(`${work} ${output === '' ? 'lets the process end' : 'keeps the process'}`, () => {
      const module = JSON.stringify(new URL('./timers.ts', import.meta.url).href);
      const script = `import { abortAfter, setTicker, setTimer, sleep } from ${module};\n${work};`;
      const { status, stdout } = spawnSync(process.execPath, ['--input-type=module'], {
        input: script,
        encoding: 'utf8',
      });
      assert.deepEqual({ status, stdout }, { status: 0, stdout: output });
    });
  }
});

describe('on a clock that a test turns', () => {
  test('timers, tickers, sleeps and deadlines fire in the order of their times, and not by themselves', async () => {
    const clock = createManualClock(start);
    const fired: string[] = [];
    const note = (name: string) => fired.push(`${name} at ${elapsedMs()}`);
    const real = mock.method(globalThis, 'setTimeout');
    const slept = runWithClock(clock, () => {
      setTimer(() => note('timer'), 25);
      const ticker = setTicker(() => note('tick'), 10);
      setTimer(() => ticker.cancel(), 35);
      const signal = abortAfter(15);
      signal.addEventListener('abort', () => note(signal.reason.name));
      return sleep(5).then(() => note('slept'));
    });
    assert.equal(real.mock.callCount(), 0);
    real.mock.restore();
    clock.advance(4);
    assert.deepEqual(fired, []);
    clock.advance(1);
    await slept;
    clock.advance(95);
    assert.deepEqual(fired, [
      'slept at 5',
      'tick at 10',
      'TimeoutError at 15',
      'tick at 20',
      'timer at 25',
      'tick at 30',
    ]);
  });

  test('a sleep that is aborted rejects as Node’s does, and its timer is gone', async () => {
    const clock = createManualClock(start);
    const controller = new AbortController();
    const asleep = runWithClock(clock, () => sleep(10, controller.signal));
    const reason = new Error('not wanted');
    controller.abort(reason);
    const expected = await nodeTimers
      .setTimeout(1, undefined, { signal: controller.signal })
      .catch((error: unknown) => error);
    await assert.rejects(asleep, expected as Error);
    await assert.rejects(
      runWithClock(clock, () => sleep(10, controller.signal)),
      { name: 'AbortError', code: 'ABORT_ERR', cause: reason },
    );
    clock.advance(10);
  });

  test('a timer is restarted, and a cancelled one is not', () => {
    const clock = createManualClock(start);
    let fired = 0;
    const timer = runWithClock(clock, () =>
      setTimer(() => {
        fired += 1;
      }, 10),
    );
    clock.advance(9);
    timer.restart();
    clock.advance(9);
    assert.equal(fired, 0);
    clock.advance(1);
    timer.restart();
    clock.advance(10);
    assert.equal(fired, 2);
    timer.restart();
    timer.cancel();
    timer.restart();
    clock.advance(100);
    assert.equal(fired, 2);
  });

  test('a delay of nothing takes a millisecond, so that who turns the clock gets past it', () => {
    const clock = createManualClock(start);
    let fired = 0;
    runWithClock(clock, () => {
      const again = () => {
        fired += 1;
        setTimer(again, 0);
      };
      setTimer(again, Number.NaN);
    });
    clock.advance(5);
    assert.equal(fired, 5);
  });

  test('what follows from callbacks, promises, requests and their timers belongs to the clock that the work began on', async () => {
    const [one, other] = [createManualClock(start), createManualClock(start)];
    const seen: (TurnedClock | undefined)[] = [];
    const serve = () =>
      createServer((request, response) => {
        request.resume().once('end', () => {
          seen.push(turnedClock());
          setTimer(() => {
            seen.push(turnedClock());
            response.end('fine');
          }, 1_000);
        });
      });
    const servers = [runWithClock(one, serve), runWithClock(other, serve)];
    for (const [index, clock] of [one, other].entries()) {
      const server = servers[index] ?? assert.fail();
      // The server listens, and so is called, on its clock; whoever asks it is on none.
      runWithClock(clock, () => server.listen(0, '127.0.0.1'));
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const body of ['first', 'again, on the same connection']) {
        seen.length = 0;
        const { promise: asked, resolve } = Promise.withResolvers<void>();
        server.once('request', (request) => request.once('end', () => setImmediate(resolve)));
        const answered = fetch(url, { method: 'POST', body }).then((response) => response.text());
        await asked;
        clock.advance(1_000);
        assert.equal(await answered, 'fine');
        assert.deepEqual(seen, [clock, clock]);
      }
      server.close();
      server.closeAllConnections();
    }
    assert.equal(turnedClock(), undefined);
  });
});
