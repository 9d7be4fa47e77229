/** Whether a part of unknown outcome has arrived: Slack shows what the bot has said last, with what it was marked by. */
import type { JsonObject } from '../../tables.ts';
import type { Destination, MessagePart } from '../channel.ts';
import { objectsAt, textAt } from '../provider/read-json.ts';
import { hasKeyOf } from './part-key.ts';
import { readPlace } from './place.ts';
import type { LiveDependencies } from './require-access.ts';
import { SlackProblem } from './web-api.ts';

const LAST = 50;
/** Their clock is not ours. */
const CLOCK_DIFFERENCE_SECONDS = 60;

/** Undefined where Slack does not show it, or shows the app nothing. Throws `SlackProblem` where it cannot say now. */
export async function findSentSlack(
  { api, findAccess }: LiveDependencies,
  to: Destination,
  part: MessagePart,
  sentAfter: Date,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { teamId, channelId, threadTs } = readPlace(to.chat);
  const access = await findAccess(to.account, teamId);
  if (access === undefined) return undefined;
  const oldest = String(sentAfter.getTime() / 1_000 - CLOCK_DIFFERENCE_SECONDS);
  const args = { channel: channelId, oldest, limit: LAST, include_all_metadata: true };
  const shown = await (threadTs === undefined
    ? api.call(access, 'conversations.history', args, signal)
    : api.call(access, 'conversations.replies', { ...args, ts: threadTs }, signal)
  ).catch((error: unknown) => {
    if (error instanceof SlackProblem && error.kind === 'refused') return {};
    throw error;
  });
  const found = objectsAt(shown, 'messages').find((message) => holds(message, to, part, Number(oldest)));
  return textAt(found, 'ts');
}

/** Of a thread Slack shows its first message too, however old it is. */
function holds(message: JsonObject, to: Destination, part: MessagePart, oldest: number): boolean {
  if (Number(textAt(message, 'ts')) < oldest) return false;
  if (part.type === 'text') return hasKeyOf(message, to, part);
  const isBots = textAt(message, 'bot_id') !== undefined;
  return isBots && objectsAt(message, 'files').some(({ title }) => title === part.file.filename);
}
