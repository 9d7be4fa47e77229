/** Hostile bodies of the largest size, and what they do to everybody else. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { HOSTILE_BODIES } from '../../../../test/support/otlp-bodies.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

for (const [what, make] of Object.entries(HOSTILE_BODIES)) {
  test(`a hostile body never holds the event loop for 100 ms: ${what}`, async () => {
    const project = await platform.createProject();
    const type = what.startsWith('json') ? 'application/json' : 'application/x-protobuf';
    const body = new Uint8Array(gzipSync(make(1)));
    let longestMs = Number.POSITIVE_INFINITY;
    // The sender and what other files left behind work in this process too: one good attempt of three shows it.
    for (let attempt = 0; attempt < 3 && longestMs >= 100; attempt += 1) {
      const stop = watchTurns();
      const answer = await fetch(`${platform.url}/v1/otlp/v1/traces`, {
        method: 'POST',
        headers: { authorization: `Bearer ${project.token}`, 'content-encoding': 'gzip', 'content-type': type },
        body,
      });
      longestMs = stop();
      assert.ok([200, 400].includes(answer.status), `${answer.status} ${await answer.text()}`);
    }
    assert.ok(longestMs < 100, `${longestMs} ms`);
  });
}

/** The longest turn of the event loop until it is stopped, in milliseconds of this thread's CPU: the machine may be busy. */
function watchTurns(): () => number {
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let [last, longest] = [usedMs(), 0];
  const timer = setInterval(() => {
    const now = usedMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
