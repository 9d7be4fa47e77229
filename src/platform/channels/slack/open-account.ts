/** The app that a deployment is reached through. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { openProjectAccount, settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { deploymentSecretContext } from '../deployment-secrets.ts';

/** Its own, else the project's. Undefined where there is none. */
export async function openSlackAccount(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  deploymentId: string | undefined,
): Promise<OpenAccount | undefined> {
  const scoped = tenantDb(db, projectId);
  const own = deploymentId === undefined ? undefined : await findOwnApp(scoped, deploymentId);
  return own === undefined ? openProjectAccount(scoped, vault, 'slack') : openOwnApp(vault, projectId, own);
}

/** A deployment that has an app of its own. */
export interface OwnApp {
  readonly id: string;
  readonly account_id: string;
  /** Whom alone it obeys; null: everybody. */
  readonly address: string | null;
  readonly provider_metadata: JsonObject;
  readonly sealed_secrets: string;
  /** Its project is not archived. */
  readonly is_live: boolean;
}

export async function findOwnApp(db: TenantDb, deploymentId: string): Promise<OwnApp | undefined> {
  const { rows } = await db.raw<OwnApp>({
    text: `
      select d.id, d.account_id, d.address, d.provider_metadata, d.sealed_secrets, p.archived_at is null as is_live
      from deployments d join projects p on p.id = d.project_id
      where d.project_id = $1 and d.id = $2 and d.kind = 'slack' and d.account_id <> ''`,
    values: [deploymentId],
  });
  return rows[0];
}

export function openOwnApp(
  vault: Pick<Vault, 'open'>,
  projectId: string,
  { id, account_id: accountId, provider_metadata: settings, sealed_secrets }: OwnApp,
): OpenAccount {
  const secrets = JSON.parse(vault.open(sealed_secrets, deploymentSecretContext(projectId, id)));
  return { projectId, kind: 'slack', accountId, settings, secrets };
}

/** What deployments that are reached through the app have as their `account_id`. */
export function deploymentAccountOf({ accountId, settings }: Pick<OpenAccount, 'accountId' | 'settings'>): string {
  return settingOf(settings, 'slack_app_id') === accountId ? accountId : '';
}
