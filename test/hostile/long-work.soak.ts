/**
 * Whatever a body of the largest size asks for is done in pieces: none holds the event loop for more than 100 ms. The time
 * that the main thread had a processor counts, of the best of a few tries: the compiler of the engine and others that use the
 * machine's caches add to a single one.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { largeWork } from './large-work.ts';
import type { MeasuredReport, MeasuredRequest, MeasuredStart } from './measured-server.ts';

const LIMIT_MS = 100;
const TRIES = 6;

const server = fork(fileURLToPath(new URL('measured-server.ts', import.meta.url)));
let started: MeasuredStart;
before(async () => {
  [started] = (await once(server, 'message')) as [MeasuredStart];
});
after(() => server.disconnect());

function ask(request: MeasuredRequest): void {
  server.send(request);
}

const TIMEOUT_MS = 60_000;

for (const name of Object.keys(largeWork({ url: '', token: '' }))) {
  test(`the main thread does ${name} in pieces of at most ${LIMIT_MS} ms`, { timeout: TIMEOUT_MS }, async (t) => {
    const { status, send } = largeWork(started)[name] ?? assert.fail('there is no such case');
    const longest: number[] = [];
    while (longest.length < TRIES && !longest.some((ms) => ms <= LIMIT_MS)) {
      ask('reset');
      const answer = await send();
      const text = await answer.text();
      assert.equal(answer.status, status, text.slice(0, 300));
      ask('report');
      const [{ longestMs }] = (await once(server, 'message')) as [MeasuredReport];
      longest.push(Math.round(longestMs));
    }
    t.diagnostic(`${longest.join(', ')} ms`);
    assert.ok(Math.min(...longest) <= LIMIT_MS, `the main thread worked for ${longest.join(', ')} ms at a time`);
  });
}
