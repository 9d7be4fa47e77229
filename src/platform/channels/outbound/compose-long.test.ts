/** Long answers: all of them is said, and others have their turn meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
const LONG = [
  { piece: 'Some words of a long text, *one* of them said aloud. ', word: /aloud/g },
  { piece: '\n', word: undefined },
  { piece: 'x\n', word: /x/g },
  { piece: '```\ncode\n```\n\n', word: /code/g },
];

for (const [kind, compose] of Object.entries(KINDS)) {
  for (const { piece, word } of LONG) {
    test(`an answer over ${kind} has all its words when it goes on like ${JSON.stringify(piece)}`, () => {
      const count = Math.floor(CHARS / piece.length);
      const text = `First${piece.repeat(count)}last`;
      const parts = [...compose({ text, files: [], suggestedReplies: ['Go on'] })];
      const said = parts.map((part) => (part.type === 'text' ? part.plain : '')).join('\n');
      assert.match(said, /First[\s\S]*last/);
      if (word !== undefined) assert.equal(said.match(word)?.length, count);
    });
  }
}

test('composing an answer gives way to others after each message that takes 10 ms', async ({ mock }) => {
  let nowMs = 0;
  mock.method(performance, 'now', () => nowMs);
  function* slowly(): Generator<MessagePart, void> {
    for (let number = 0; number < 5; number += 1) {
      nowMs += 10;
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
