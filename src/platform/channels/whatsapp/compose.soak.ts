import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { composeWhatsApp } from './compose.ts';

const STALL_MS = 5_000;

for (const sign of ['**', '*a', '[', '](', '`', '~~x', '| ', '# ', '> ', '__a ', '\\', '- ']) {
  test(`composeWhatsApp computes less than ${STALL_MS} ms when a text is nothing but ${JSON.stringify(sign)}`, async () => {
    const text = sign.repeat(20_000);
    const tookMs = await medianComputedMs(() => [...composeWhatsApp({ text, files: [], suggestedReplies: [] })]);
    assert.ok(tookMs < STALL_MS, `${Math.round(tookMs)} ms of processor time`);
  });
}
