/** What becomes of an app's deployments when a workspace takes it away, and brings it back. */

import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase, type TenantTransaction } from '../../store/tenant-db.ts';
import { findAccount } from '../accounts/account-store.ts';
import { sealSecrets, settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { removeInstall } from './installs.ts';

/** Of the people of one workspace; the deployment of an agent is for all workspaces, and stays as it is. */
const OF_TEAM = `d.project_id = $1 and d.kind = 'slack' and d.account_id in ('', $2) and d.smith_id is not null
  and starts_with(d.address, $3 || ':')`;

/** Whose smith is still there is reached again. */
export async function reconnectTeam(tx: TenantTransaction, { accountId }: OpenAccount, teamId: string): Promise<void> {
  await tx.raw({
    text: `
      update deployments d set status = 'active', updated_at = now()
      from smiths s
      where ${OF_TEAM} and d.status = 'disconnected' and s.project_id = d.project_id and s.id = d.smith_id
        and s.archived_at is null`,
    values: [accountId, teamId],
  });
}

/** Slack says so in two ways, and repeats both: only what still was installed is noted. */
export async function forgetSlackTeam(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'seal'> },
  account: OpenAccount,
  teamId: string,
): Promise<void> {
  await new TenantDatabase(db, account.projectId).transaction(async (tx) => {
    const wasInstalled = await removeInstall(tx, account, teamId);
    const wasSaved = await forgetBotToken(vault, tx, account, teamId);
    if (!wasInstalled && !wasSaved) return;
    const found = await findDeployment(tx, account, teamId);
    await tx.raw({
      text: `update deployments d set status = 'disconnected', updated_at = now() where ${OF_TEAM} and d.status = 'active'`,
      values: [account.accountId, teamId],
    });
    const smithId = found?.smith_id ?? null;
    await appendEvent(tx, {
      type: 'slack.uninstalled',
      smithId,
      actor: smithId === null ? null : { kind: 'smith', id: smithId, token_id: '', email: '' },
      data: { channel_id: found?.id ?? '', team_id: teamId },
    });
  });
}

/** The token that the app was saved with, where it is of this workspace and still the same. */
async function forgetBotToken(
  vault: Pick<Vault, 'seal'>,
  tx: TenantTransaction,
  { projectId, accountId, secrets }: OpenAccount,
  teamId: string,
): Promise<boolean> {
  const row = await findAccount(tx, 'slack');
  const isOf = row?.account_id === accountId && settingOf(row.settings, 'team_id') === teamId;
  if (row === undefined || !isOf || secrets.bot_token === undefined) return false;
  const { bot_token: _gone, ...kept } = secrets;
  const { team_id: _team, team: _name, bot_user_id: _bot, ...settings } = row.settings;
  const { rowCount } = await tx.raw({
    text: `
      update channel_accounts set settings = $3, sealed_secrets = $4, secret_keys = $5, updated_at = now()
      where project_id = $1 and kind = 'slack' and sealed_secrets = $2`,
    values: [row.sealed_secrets, json(settings), ...Object.values(sealSecrets(vault, projectId, 'slack', kept))],
  });
  return rowCount > 0;
}

/** Whom the app was there for: the agent that takes everybody, else the first of the workspace. */
async function findDeployment(
  tx: TenantTransaction,
  { accountId }: OpenAccount,
  teamId: string,
): Promise<{ readonly id: string; readonly smith_id: string | null } | undefined> {
  const { rows } = await tx.raw<{ id: string; smith_id: string | null }>({
    text: `
      select d.id, d.smith_id from deployments d
      where (${OF_TEAM}) or (d.project_id = $1 and d.kind = 'slack' and d.account_id in ('', $2) and d.agent_id is not null)
      order by d.agent_id is null, d.id
      limit 1`,
    values: [accountId, teamId],
  });
  return rows[0];
}
