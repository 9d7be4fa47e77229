/** Conversations and people on Slack, in the words of deployments: ids hold within a workspace. */

export interface SlackPlace {
  readonly teamId: string;
  readonly channelId: string;
  /** Of the message that the thread hangs from; undefined outside of threads. */
  readonly threadTs: string | undefined;
}

export function chatOf({ teamId, channelId, threadTs }: SlackPlace): string {
  return [teamId, channelId, ...(threadTs === undefined ? [] : [threadTs])].join(':');
}

export function readPlace(chat: string): SlackPlace {
  const [teamId = '', channelId = '', threadTs] = chat.split(':');
  return { teamId, channelId, threadTs };
}

/** As a deployment's `address` has it. */
export function addressOf(teamId: string, userId: string): string {
  return `${teamId}:${userId}`;
}

export function isTeamId(value: unknown): value is string {
  return typeof value === 'string' && /^[TE][A-Z0-9]{2,30}$/.test(value);
}

export function isUserId(value: unknown): value is string {
  return typeof value === 'string' && /^[UW][A-Z0-9]{2,30}$/.test(value);
}

export function isChannelId(value: unknown): value is string {
  return typeof value === 'string' && /^[CDG][A-Z0-9]{2,30}$/.test(value);
}

export function isTs(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,16}\.\d{1,10}$/.test(value);
}
