/** Answers of so many characters, composed for each kind of channel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ComposedAnswer, MessagePart } from '../../src/platform/channels/channel.ts';
import { composeDiscord } from '../../src/platform/channels/discord/compose.ts';
import { composeMail } from '../../src/platform/channels/email/compose.ts';
import { composeSlack } from '../../src/platform/channels/slack/compose.ts';
import { composeSms } from '../../src/platform/channels/sms/compose.ts';
import { composeAnswer as composeTelegram } from '../../src/platform/channels/telegram/compose.ts';
import { composeWhatsApp } from '../../src/platform/channels/whatsapp/compose.ts';

export const KINDS: Readonly<Record<string, (answer: ComposedAnswer) => Iterable<MessagePart>>> = {
  Discord: composeDiscord,
  email: (answer) => composeMail(answer, 'key'),
  Slack: composeSlack,
  SMS: composeSms,
  Telegram: composeTelegram,
  WhatsApp: composeWhatsApp,
};
const LONG = [
  { piece: 'Some words of a long text, *one* of them said aloud. ', word: /aloud/g },
  { piece: '\n', word: undefined },
  { piece: 'x\n', word: /x/g },
  { piece: '```\ncode\n```\n\n', word: /code/g },
];

export function testLongAnswers(chars: number): void {
  for (const [kind, compose] of Object.entries(KINDS)) {
    for (const { piece, word } of LONG) {
      test(`an answer over ${kind} has all its words when it goes on like ${JSON.stringify(piece)}`, () => {
        const count = Math.floor(chars / piece.length);
        const text = `First${piece.repeat(count)}last`;
        const parts = [...compose({ text, files: [], suggestedReplies: ['Go on'] })];
        const said = parts.map((part) => (part.type === 'text' ? part.plain : '')).join('\n');
        assert.match(said, /First[\s\S]*last/);
        if (word !== undefined) assert.equal(said.match(word)?.length, count);
      });
    }
  }
}
