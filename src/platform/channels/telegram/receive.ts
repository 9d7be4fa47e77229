/** A call of Telegram's to the webhook. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
import { isWebhookSecret } from '../accounts/webhook-secret.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import type { MovedChat } from '../inbound/move-chat.ts';
import { botOf } from './bot.ts';
import { readMove, readUpdate } from './read-update.ts';

/** Whose bot it is for. Throws `bad_webhook_secret`, whether the project has a bot or not. */
export async function verifyTelegramCall(
  accounts: OpenedAccounts,
  projectId: string,
  secret: string | string[] | undefined,
): Promise<OpenAccount> {
  const found = await accounts.find(projectId, 'telegram');
  const live = found?.isLive === true ? found : undefined;
  if (!isWebhookSecret(secret, live?.webhookKeyHash) || live === undefined) throw new ApiError('bad_webhook_secret');
  return live.account;
}

/** A message at most, or a chat that has another id. Throws `bad_webhook` for what is no update. */
export function readTelegramCall(
  account: OpenAccount,
  bytes: Buffer,
): { readonly messages: readonly InboundMessage[]; readonly moved: MovedChat | undefined } {
  const update = parse(bytes);
  const message = readUpdate(update, botOf(account));
  return { messages: message === undefined ? [] : [message], moved: readMove(update) };
}

function parse(bytes: Buffer): unknown {
  try {
    const update: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof update === 'object' && update !== null && 'update_id' in update) return update;
  } catch {
    // Told like any other call that is no update.
  }
  throw new ApiError('bad_webhook', { message: 'The call holds no update of Telegram’s. Send one as JSON.' });
}
