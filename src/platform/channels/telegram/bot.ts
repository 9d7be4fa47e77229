/** The bot that an account of Telegram is of, as its settings keep it. */
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import type { Bot } from './read-update.ts';

export interface TelegramSettings {
  readonly bot_username: string;
  readonly api_base_url: string;
  /** Where Telegram brings messages; empty: they are fetched. */
  readonly webhook_url: string;
}

export function botOf({ accountId, settings }: Pick<OpenAccount, 'accountId' | 'settings'>): Bot {
  return { id: Number(accountId), username: settingOf(settings, 'bot_username') };
}
