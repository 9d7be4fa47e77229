/** Says that messages get no answer of their own, where their channel shows that one is being written. */
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Channel } from '../channel.ts';
import type { WaitingChat, WaitingMessage } from '../inbound/queue-store.ts';
import { replyContext } from '../reply-secrets.ts';

const CALL_TIMEOUT_MS = 5_000;

export type Dismiss = (chat: WaitingChat, messages: readonly Pick<WaitingMessage, 'sealed_reply'>[]) => void;

export function createDismiss({
  channels,
  vault,
}: {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly vault: Pick<Vault, 'open'>;
}): Dismiss {
  async function dismissOne(channel: Channel, chat: WaitingChat, sealedReply: string): Promise<void> {
    const account = await channel.openAccount(chat.project_id, chat.deployment_id);
    if (account === undefined) return;
    const reply = vault.open(sealedReply, replyContext(chat.project_id, chat.account_id, chat.chat));
    const to = { account, chat: chat.chat, sender: chat.sender, reply };
    await channel.dismiss?.(to, AbortSignal.timeout(CALL_TIMEOUT_MS));
  }

  return (chat, messages) => {
    const channel = channels.get(chat.kind);
    if (channel?.dismiss === undefined) return;
    for (const { sealed_reply } of messages) {
      if (sealed_reply !== null) void dismissOne(channel, chat, sealed_reply).catch(() => undefined);
    }
  };
}
