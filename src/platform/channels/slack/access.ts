/** What of an account calls Slack in one of its workspaces: the bot's token that it was saved with, or that an installation brought. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { findBotToken } from './installs.ts';
import { SLACK_URL, type SlackAccess } from './web-api.ts';

export function baseUrlOf({ settings }: Pick<OpenAccount, 'settings'>): string {
  return settingOf(settings, 'api_base_url') || SLACK_URL;
}

/** Undefined for a workspace that the app is not installed in. */
export type FindAccess = (account: OpenAccount, teamId: string) => Promise<SlackAccess | undefined>;

export function createFindAccess(deps: { readonly db: Database; readonly vault: Pick<Vault, 'open'> }): FindAccess {
  return async (account, teamId) => {
    const saved = settingOf(account.settings, 'team_id') === teamId ? account.secrets.bot_token : undefined;
    const token = saved ?? (await findBotToken(deps.vault, tenantDb(deps.db, account.projectId), account, teamId));
    return token === undefined ? undefined : { baseUrl: baseUrlOf(account), token };
  };
}
