/** Pieces of an answer in the deferred reply, for as long as the interaction's token lives. */
import { type LiveAnswers, SendFailure } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import type { SendDependencies } from './call-discord.ts';
import { MAX_TEXT_CHARS } from './compose.ts';
import { findDeferred, removeMessage, showText } from './deferred-reply.ts';
import { toDiscordMarkup } from './markup.ts';
import { readReply, isLive as tokenLives } from './reply.ts';

/** Discord takes five calls in five seconds of an interaction, the answer's own among them. */
const PACE_MS = 1_500;

export function createDiscordLive(deps: SendDependencies): LiveAnswers {
  const liveReply = (reply: string | undefined) => {
    const read = readReply(reply);
    return read !== undefined && tokenLives(read, deps.now()) ? read : undefined;
  };
  return {
    at: ({ reply }) => (liveReply(reply) === undefined ? undefined : { paceMs: PACE_MS }),
    async open(to, signal) {
      const message = await findDeferred(deps, to, signal);
      // Without a message nothing would be left behind, but nothing can be shown either.
      if (message === undefined) throw new SendFailure('refused', 'Discord: there is no deferred reply.');
      return message;
    },
    async show(to, text, { message, shown, signal }) {
      const piece = pieceOf(text);
      if (message === undefined || piece === pieceOf(shown)) return;
      await showText(deps, to, message, piece, signal);
    },
    remove: (to, message, signal) => removeMessage(deps, to, message, signal),
  };
}

function pieceOf(markdown: string): string {
  // Discord's markup is hardly ever half as long.
  const [piece = ''] = splitMarkdown(toDiscordMarkup(markdown.slice(0, 4 * MAX_TEXT_CHARS)), { limit: MAX_TEXT_CHARS });
  return piece;
}
