/** What of an account calls Slack. */
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { SLACK_URL, type SlackAccess } from './web-api.ts';

function baseUrlOf({ settings }: Pick<OpenAccount, 'settings'>): string {
  return settingOf(settings, 'api_base_url') || SLACK_URL;
}

/** As the bot that the account was saved with. Undefined for a workspace that it is not of. */
export function accessOf(account: OpenAccount, teamId: string): SlackAccess | undefined {
  const token = account.secrets.bot_token;
  if (token === undefined || settingOf(account.settings, 'team_id') !== teamId) return undefined;
  return { baseUrl: baseUrlOf(account), token };
}
