import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, MessagingKind } from '../../tables.ts';
import type { OpenAccount } from '../channel.ts';
import { channelAccountContext } from './account-secrets.ts';
import { type AccountRow, findAccount } from './account-store.ts';

/** The project's account of the kind; undefined where there is none. Throws `VaultError` for one whose master key is gone. */
export async function openProjectAccount(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  kind: MessagingKind,
): Promise<OpenAccount | undefined> {
  const row = await findAccount(db, kind);
  return row === undefined ? undefined : openAccount(vault, db.projectId, row);
}

export function openAccount(vault: Pick<Vault, 'open'>, projectId: string, row: AccountRow): OpenAccount {
  const { kind, account_id: accountId, settings } = row;
  const secrets = JSON.parse(vault.open(row.sealed_secrets, channelAccountContext(projectId, kind)));
  return { projectId, kind, accountId, settings, secrets };
}

export function sealSecrets(
  vault: Pick<Vault, 'seal'>,
  projectId: string,
  kind: MessagingKind,
  secrets: Readonly<Record<string, string>>,
): Pick<AccountRow, 'sealed_secrets' | 'secret_keys'> {
  return {
    sealed_secrets: vault.seal(JSON.stringify(secrets), channelAccountContext(projectId, kind)),
    secret_keys: Object.keys(secrets).sort(),
  };
}

/** A text of the settings; empty where there is none. */
export function settingOf(settings: JsonObject, name: string): string {
  const value = settings[name];
  return typeof value === 'string' ? value : '';
}
