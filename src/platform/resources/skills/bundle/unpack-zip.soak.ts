import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs, medianOfThree } from '../../../../../test/support/computed-time.ts';
import { lyingZip, zipOf } from '../../../../../test/support/skills.ts';
import { MAX_UNPACKED_BYTES } from './limits.ts';
import { unpackZip } from './unpack-zip.ts';

test('unpacking an archive of the largest size never blocks the event loop for 100 ms', async () => {
  const archive = await zipOf({ a: Buffer.alloc(MAX_UNPACKED_BYTES) });
  const ms = await medianOfThree(async () => {
    let longestMs = 0;
    let lastMs = computedMs();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, computedMs() - lastMs);
      lastMs = computedMs();
    }, 1);
    await unpackZip(archive);
    clearInterval(timer);
    return longestMs;
  });
  assert.ok(ms < 100, `${ms} ms`);
});

test('an archive unpacks to as much as is allowed, in one file or two, and not to one byte more', async () => {
  const half = Buffer.alloc(MAX_UNPACKED_BYTES / 2);
  for (const files of [{ a: half, b: half }, { a: Buffer.alloc(MAX_UNPACKED_BYTES) }]) {
    const unpacked = await unpackZip(await zipOf(files));
    assert.equal(
      unpacked.reduce((sum, { bytes }) => sum + bytes, 0),
      MAX_UNPACKED_BYTES,
    );
  }
  const more = await zipOf({ a: half, b: half, c: 'x' });
  await assert.rejects(unpackZip(more), { code: 'payload_too_large' });
});

test('an archive of 42 KB takes no memory, whatever it says of the 40 MB in it', async () => {
  const [bomb, liar] = [lyingZip(40_000_000, 0xfff0_0000), lyingZip(40_000_000, 100)];
  assert.ok(bomb.length < 43_000);
  const before = process.memoryUsage().arrayBuffers;
  await assert.rejects(unpackZip(bomb), { code: 'payload_too_large' });
  await assert.rejects(unpackZip(liar), { code: 'invalid_bundle' });
  assert.ok(process.memoryUsage().arrayBuffers - before < 20_000_000);
});
