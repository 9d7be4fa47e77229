/** Answers as long as one can be are said whole, and hold nobody up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs } from '../../../../test/support/computed-time.ts';
import { KINDS, testLongAnswers } from '../../../../test/support/long-answers.ts';
import type { MessagePart } from '../channel.ts';

const CHARS = 262_144;
const TRIES = 3;
const STALL_MS = 100;

testLongAnswers(CHARS);

/** Of all steps to the next part, the longest; each counts with the middle of its tries. */
function longestStepMs(compose: () => Iterable<MessagePart>): number {
  const steps: number[][] = [];
  for (let tries = 0; tries < TRIES; tries += 1) {
    let before = computedMs();
    const parts = compose()[Symbol.iterator]();
    for (let step = 0, done: boolean | undefined = false; done !== true; step += 1) {
      done = parts.next().done;
      const now = computedMs();
      steps[step] = [...(steps[step] ?? []), now - before];
      before = now;
    }
  }
  return Math.max(...steps.map((tries) => tries.sort((one, other) => one - other)[1] ?? Number.NaN));
}

for (const [kind, compose] of Object.entries(KINDS)) {
  for (const piece of ['Some words of a long text, *one* of them said aloud. ', '\n', 'x\n', '```\na\n```\n\n']) {
    const form = JSON.stringify(piece);
    test(`no message over ${kind} takes ${STALL_MS} ms to compute when an answer goes on like ${form}`, () => {
      const text = `a${piece.repeat(CHARS / piece.length)}b`;
      const tookMs = longestStepMs(() => compose({ text, files: [], suggestedReplies: ['Go on'] }));
      assert.ok(tookMs < STALL_MS, `${Math.round(tookMs)} ms of processor time`);
    });
  }
}
