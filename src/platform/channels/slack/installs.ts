/** Rows of installations: the bot that an app has in a workspace. Its token leaves here for a call alone. */
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { OpenAccount } from '../channel.ts';
import { slackInstallContext } from './install-secrets.ts';

type App = Pick<OpenAccount, 'accountId'>;

export interface Install {
  readonly teamId: string;
  readonly botUserId: string;
  readonly botToken: string;
}

/** In place of the one that is there. */
export async function storeInstall(
  vault: Pick<Vault, 'seal'>,
  db: TenantDb,
  { accountId }: App,
  { teamId, botUserId, botToken }: Install,
): Promise<void> {
  const sealed_bot_token = vault.seal(botToken, slackInstallContext(db.projectId, accountId, teamId));
  const bot = { bot_user_id: botUserId, sealed_bot_token };
  await db
    .insertInto('slack_installs')
    .values({ account_id: accountId, team_id: teamId, ...bot })
    .onConflict((conflict) => conflict.columns(['project_id', 'account_id', 'team_id']).doUpdateSet(bot))
    .execute();
}

/** Throws `VaultError` for one whose master key is gone. */
export async function findBotToken(
  vault: Pick<Vault, 'open'>,
  db: TenantDb,
  { accountId }: App,
  teamId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('slack_installs')
    .select('sealed_bot_token')
    .where('account_id', '=', accountId)
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  return row && vault.open(row.sealed_bot_token, slackInstallContext(db.projectId, accountId, teamId));
}

export async function isInstalled(db: TenantDb, { accountId }: App, teamId: string): Promise<boolean> {
  const found = await db
    .selectFrom('slack_installs')
    .select('team_id')
    .where('account_id', '=', accountId)
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  return found !== undefined;
}

/** Whether there was one. */
export async function removeInstall(db: TenantDb, { accountId }: App, teamId: string): Promise<boolean> {
  const removed = await db
    .deleteFrom('slack_installs')
    .where('account_id', '=', accountId)
    .where('team_id', '=', teamId)
    .returning('team_id')
    .executeTakeFirst();
  return removed !== undefined;
}

export async function removeInstalls(db: TenantDb, { accountId }: App): Promise<void> {
  await db.deleteFrom('slack_installs').where('account_id', '=', accountId).execute();
}
