/** Whatever is written, it is spoken in linear time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { MARKS, speak, testLongLines } from '../../../../test/support/speech-lines.ts';

const LINE = 200_000;
/** Far beyond what linear time needs; quadratic time is several times this for what was the worst. */
const STALL_MS = 2_000;

testLongLines(LINE);

async function assertInTime(pieces: Iterable<string>): Promise<void> {
  const tookMs = await medianComputedMs(() => speak(pieces));
  assert.ok(tookMs < STALL_MS, `${Math.round(tookMs)} ms of processor time`);
}

for (const mark of MARKS) {
  for (const [before, after] of [
    ['', ''],
    ['', 'a'],
    ['', ' \u2028a'],
    ['a', ')a'],
  ] as const) {
    const form = JSON.stringify([before, mark, after]);
    test(`SpeechText computes less than ${STALL_MS} ms when a line goes on like ${form}`, async () => {
      await assertInTime([before + mark.repeat(LINE / mark.length) + after]);
    });
  }
}

for (const [first, piece] of [
  ['', 'a'],
  ['', '['],
  ['', '-'],
  ['', ' '],
  ['```', 'a'],
] as const) {
  const form = JSON.stringify([first, piece]);
  test(`SpeechText computes less than ${STALL_MS} ms when letters come one by one and go on like ${form}`, async () => {
    await assertInTime(first + piece.repeat(LINE / 2));
  });
}
