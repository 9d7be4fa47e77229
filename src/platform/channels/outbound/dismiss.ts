/** Says that messages get no answer of their own, where their channel shows that one is being written. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Channel } from '../channel.ts';
import type { WaitingMessage } from '../inbound/queue-store.ts';
import { type AnsweredChat, openDestination } from './open-destination.ts';

const CALL_TIMEOUT_MS = 5_000;

export type Dismiss = (chat: AnsweredChat, messages: readonly Pick<WaitingMessage, 'sealed_reply'>[]) => void;

export function createDismiss({
  channels,
  vault,
}: {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly vault: Pick<Vault, 'open'>;
}): Dismiss {
  async function dismissOne(channel: Channel, chat: AnsweredChat, sealedReply: string): Promise<void> {
    const to = await openDestination(vault, channel, chat, sealedReply);
    if (to !== undefined) await channel.dismiss?.(to, abortAfter(CALL_TIMEOUT_MS));
  }

  return (chat, messages) => {
    const channel = channels.get(chat.kind);
    if (channel?.dismiss === undefined) return;
    for (const { sealed_reply } of messages) {
      if (sealed_reply !== null) void dismissOne(channel, chat, sealed_reply).catch(() => undefined);
    }
  };
}
