/** A call of Telegram's to the webhook. */
import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { findLiveAccount } from '../accounts/account-store.ts';
import { openAccount } from '../accounts/open-account.ts';
import { isWebhookSecret } from '../accounts/webhook-secret.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import type { MovedChat } from '../inbound/move-chat.ts';
import { botOf } from './bot.ts';
import { readMove, readUpdate } from './read-update.ts';

/** Whose bot it is for. Throws `bad_webhook_secret`, whether the project has a bot or not. */
export async function verifyTelegramCall(
  { db, vault }: { readonly db: Executor; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  secret: string | string[] | undefined,
): Promise<OpenAccount> {
  const row = await findLiveAccount(tenantDb(db, projectId), 'telegram');
  if (!isWebhookSecret(secret, row?.webhook_key_hash) || row === undefined) throw new ApiError('bad_webhook_secret');
  return openAccount(vault, projectId, row);
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
