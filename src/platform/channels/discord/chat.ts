/** A conversation on Discord is one person's in one channel: others who ask there have their own. */

export interface DiscordChat {
  readonly channelId: string;
  readonly userId: string;
}

export function chatOf(channelId: string, userId: string): string {
  return `${channelId}:${userId}`;
}

export function readChat(chat: string): DiscordChat {
  const [channelId = '', userId = ''] = chat.split(':');
  return { channelId, userId };
}
