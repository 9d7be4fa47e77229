/** Long answers hold nobody up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs } from '../../../../test/support/computed-time.ts';
import type { Engine } from '../../engine/index.ts';
import type { Channel, ComposedAnswer, MessagePart } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { composeDiscord } from '../discord/compose.ts';
import { composeMail } from '../email/compose.ts';
import { composeSlack } from '../slack/compose.ts';
import { composeSms } from '../sms/compose.ts';
import { composeAnswer as composeTelegram } from '../telegram/compose.ts';
import { composeWhatsApp } from '../whatsapp/compose.ts';
import type { OpenAnswer } from './answer-store.ts';
import { composeAnswer } from './compose-answer.ts';

const KINDS: Readonly<Record<string, (answer: ComposedAnswer) => Iterable<MessagePart>>> = {
  Discord: composeDiscord,
  email: (answer) => composeMail(answer, 'key'),
  Slack: composeSlack,
  SMS: composeSms,
  Telegram: composeTelegram,
  WhatsApp: composeWhatsApp,
};
const CHARS = 262_144;
const TRIES = 3;
const STALL_MS = 100;

/** Of all steps to the next part, the longest; each counts with the least of some tries. */
function longestStepMs(compose: () => Iterable<MessagePart>): number {
  const least: number[] = [];
  for (let tries = 0; tries < TRIES; tries += 1) {
    let before = computedMs();
    const parts = compose()[Symbol.iterator]();
    for (let step = 0, done: boolean | undefined = false; done !== true; step += 1) {
      done = parts.next().done;
      const now = computedMs();
      least[step] = Math.min(least[step] ?? Number.POSITIVE_INFINITY, now - before);
      before = now;
    }
  }
  return Math.max(...least);
}

for (const [kind, compose] of Object.entries(KINDS)) {
  test(`no message of a long answer takes long to make: ${kind}`, () => {
    for (const piece of ['Some words of a long text, *one* of them said aloud. ', '\n', 'x\n', '```\na\n```\n\n']) {
      const text = `a${piece.repeat(CHARS / piece.length)}b`;
      const ms = longestStepMs(() => compose({ text, files: [], suggestedReplies: ['Go on'] }));
      assert.ok(ms < STALL_MS, `${JSON.stringify(piece)}: ${Math.round(ms)} ms`);
    }
  });
}

test('others have their turn while an answer becomes messages', async () => {
  function* slowly(): Generator<MessagePart, void> {
    for (let number = 0; number < 5; number += 1) {
      const began = performance.now();
      while (performance.now() - began < 10);
      yield { type: 'text', text: String(number), plain: String(number) };
    }
  }
  const channel = { compose: slowly } as unknown as Channel;
  const answer = { id: 'ans_1', sentence: 'Any.', segments: 0, status: 'completed', pauses: 0 } as OpenAnswer;
  const unused = {} as { engine: Engine; files: ChannelFiles };
  let turns = 0;
  let others = setImmediate(function turn() {
    turns += 1;
    others = setImmediate(turn);
  });
  const { parts, next } = await composeAnswer(unused, channel, answer, new AbortController().signal);
  clearImmediate(others);
  assert.equal(parts.length, 5);
  assert.equal(next, 'planned');
  assert.ok(turns >= 4, `${turns} turns`);
});
