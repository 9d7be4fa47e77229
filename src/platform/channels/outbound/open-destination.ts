import type { Vault } from '../../../kernel/vault/vault.ts';
import type { Channel, Destination } from '../channel.ts';
import type { WaitingChat } from '../inbound/queue-store.ts';
import { replyContext } from '../reply-secrets.ts';

export type AnsweredChat = Pick<
  WaitingChat,
  'kind' | 'project_id' | 'deployment_id' | 'account_id' | 'chat' | 'sender'
>;

/** Where a conversation is answered, with its secrets: for the length of a call. Undefined where its account is gone. */
export async function openDestination(
  vault: Pick<Vault, 'open'>,
  channel: Channel,
  { project_id, deployment_id, account_id, chat, sender }: AnsweredChat,
  sealedReply: string | null,
): Promise<Destination | undefined> {
  const account = await channel.openAccount(project_id, deployment_id);
  if (account === undefined) return undefined;
  const context = replyContext(project_id, account_id, chat);
  const reply = sealedReply === null ? undefined : vault.open(sealedReply, context);
  return { account, chat, sender, reply };
}
