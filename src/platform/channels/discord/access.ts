/** What of an account calls Discord. */
import type { OpenAccount } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';
import { DISCORD_URL } from './api.ts';

export function baseUrlOf({ settings }: Pick<OpenAccount, 'settings'>): string {
  return textAt(settings, 'api_base_url') ?? DISCORD_URL;
}

export function botTokenOf({ secrets }: Pick<OpenAccount, 'secrets'>): string {
  return secrets.bot_token ?? '';
}
