/** What becomes of an app's deployments when a workspace takes it away, and brings it back. */

import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase, type TenantTransaction } from '../../store/tenant-db.ts';
import { holdAccount } from '../accounts/account-store.ts';
import { openAccount, sealSecrets, settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { removeInstall } from './installs.ts';
import { deploymentAccountOf } from './open-account.ts';

/** Those that are reached through the app; `$2` is empty for the project's. */
const OF_APP = `d.project_id = $1 and d.kind = 'slack' and d.account_id = $2::text`;
/** Of the people of one workspace; an app of a smith's own has no others. The deployment of an agent is for all workspaces, and stays as it is. */
const OF_TEAM = `${OF_APP} and d.smith_id is not null and ($2::text <> '' or starts_with(d.address, $3 || ':'))`;
/** An app of a smith's own may be in other workspaces too. */
const IS_LEFT = `($2::text = '' or not exists (select from slack_installs i where i.project_id = $1 and i.account_id = $2::text))`;

/** Whose smith is still there is reached again. */
export async function reconnectTeam(tx: TenantTransaction, account: OpenAccount, teamId: string): Promise<void> {
  await tx.raw({
    text: `
      update deployments d set status = 'active', updated_at = now()
      from smiths s
      where ${OF_TEAM} and d.status <> 'active' and s.project_id = d.project_id and s.id = d.smith_id
        and s.archived_at is null`,
    values: [deploymentAccountOf(account), teamId],
  });
}

/** Slack says so in two ways, and repeats both: only what still was installed is noted. */
export async function forgetSlackTeam(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open' | 'seal'> },
  account: OpenAccount,
  teamId: string,
): Promise<void> {
  await new TenantDatabase(db, account.projectId).transaction(async (tx) => {
    const wasInstalled = await removeInstall(tx, account, teamId);
    const wasSaved = await forgetBotToken(vault, tx, account, teamId);
    if (!wasInstalled && !wasSaved) return;
    const found = await findDeployment(tx, account, teamId);
    await tx.raw({
      text: `
        update deployments d set status = 'disconnected', updated_at = now()
        where ${OF_TEAM} and d.status = 'active' and ${IS_LEFT}`,
      values: [deploymentAccountOf(account), teamId],
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

/** The token that the app was saved with, where it is of this workspace. */
async function forgetBotToken(
  vault: Pick<Vault, 'open' | 'seal'>,
  tx: TenantTransaction,
  { projectId, accountId }: OpenAccount,
  teamId: string,
): Promise<boolean> {
  // Its other secrets change by themselves: nobody else writes them meanwhile.
  const row = await holdAccount(tx, 'slack');
  if (row?.account_id !== accountId || settingOf(row.settings, 'team_id') !== teamId) return false;
  const { bot_token: gone, ...kept } = openAccount(vault, projectId, row).secrets;
  if (gone === undefined) return false;
  await tx.raw({
    text: `
      update channel_accounts
      set settings = settings - '{team_id,team,bot_user_id}'::text[], sealed_secrets = $2, secret_keys = $3, updated_at = now()
      where project_id = $1 and kind = 'slack'`,
    values: [...Object.values(sealSecrets(vault, projectId, 'slack', kept))],
  });
  return true;
}

/** Whom the app was there for: the agent that takes everybody, else the first of the workspace. */
async function findDeployment(
  tx: TenantTransaction,
  account: OpenAccount,
  teamId: string,
): Promise<{ readonly id: string; readonly smith_id: string | null } | undefined> {
  const { rows } = await tx.raw<{ id: string; smith_id: string | null }>({
    text: `
      select d.id, d.smith_id from deployments d
      where (${OF_TEAM}) or (${OF_APP} and d.agent_id is not null)
      order by d.agent_id is null, d.id
      limit 1`,
    values: [deploymentAccountOf(account), teamId],
  });
  return rows[0];
}
