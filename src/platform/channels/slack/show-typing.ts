/** Says in a thread that an answer is being written. Slack takes it down with the next message, and knows no such sign elsewhere. */
import type { Destination } from '../channel.ts';
import { readPlace } from './place.ts';
import type { LiveDependencies } from './require-access.ts';

const STATUS = 'is writing…';

export async function showSlackTyping(
  { api, findAccess }: LiveDependencies,
  { account, chat }: Destination,
  signal: AbortSignal,
): Promise<void> {
  const { teamId, channelId, threadTs } = readPlace(chat);
  const access = await findAccess(account, teamId);
  if (access === undefined || threadTs === undefined) return;
  const args = { channel_id: channelId, thread_ts: threadTs, status: STATUS };
  await api.call(access, 'assistant.threads.setStatus', args, signal);
}
