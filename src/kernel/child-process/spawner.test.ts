import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Child } from './child.ts';

const MEBIBYTE = 1_048_576;

function startChild(): Child<string, string> {
  return new Child({
    name: 'echo',
    program: new URL('data:text/javascript,export const answer = (message) => message;'),
    heapBytes: 64 * MEBIBYTE,
    residentBytes: 1_024 * MEBIBYTE,
    answerBytes: MEBIBYTE,
  });
}

/** Nothing of this process runs meanwhile, as where it has much to do or no processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a child that is ready long before this process listens is heard', { timeout: 60_000 }, async () => {
  const first = startChild();
  await first.ready();
  const child = startChild();
  // What starts the child has been told, and no more.
  await wait(1);
  standStill(1_500);
  await child.ready();
  assert.equal(await child.ask('hello', { timeoutMs: 30_000 }), 'hello');
  await Promise.all([first, child].map((each) => each.end(new Error('the test is over'))));
});

test('the spawner ends when its parent has ended before it was loaded', { timeout: 60_000 }, async () => {
  const program = new URL('./spawner-program.ts', import.meta.url).pathname;
  // Asks for a child at once. Programs end with their channel; this child knows of none, and ends by itself.
  const parent = `
    const { fork } = require('node:child_process');
    const spawner = fork(${JSON.stringify(program)}, { execArgv: ['--no-warnings'] });
    process.kill(spawner.pid, 'SIGSTOP');
    const message = { kind: 'start', id: 1, args: ['-e', 'setTimeout(() => {}, 10_000)'], givesWay: false };
    spawner.send(message, () => console.log(spawner.pid));
  `;
  const child = spawn(process.execPath, ['-e', parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  assert.match(String(line), /^\d+\n$/);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  process.kill(Number(line), 'SIGCONT');
  // What it inherits of this pipe it holds until it ends.
  await once(child.stdout.resume(), 'close');
});
