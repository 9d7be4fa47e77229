/**
 * The statements by which a configuration token is replaced. A refresh token works once, so the account's row says that one is
 * being spent before Slack is asked: a lease rather than a lock, which would hold the store up as long as Slack takes.
 */
import { json } from '../../../../kernel/db/values.ts';
import type { Vault } from '../../../../kernel/vault/vault.ts';
import type { TenantDatabase, TenantDb } from '../../../store/tenant-db.ts';
import { holdAccount } from '../../accounts/account-store.ts';
import { openAccount, sealSecrets } from '../../accounts/open-account.ts';
import type { OpenAccount } from '../../channel.ts';

/** Longer than Slack is waited for, with what is done before and after. */
const LEASE_SECONDS = 90;

/** False: another replica is at it, or the account is another one than `sealedSecrets`. */
export async function claimRotation(db: TenantDb, rotationId: string, sealedSecrets: string): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      update channel_accounts
      set settings = settings || jsonb_build_object(
        'rotation_id', $2::text, 'rotating_until', now() + interval '${LEASE_SECONDS} seconds')
      where project_id = $1 and kind = 'slack' and sealed_secrets = $3
        and coalesce((settings ->> 'rotating_until')::timestamptz <= now(), true)`,
    values: [rotationId, sealedSecrets],
  });
  return rowCount > 0;
}

export async function releaseRotation(db: TenantDb, rotationId: string): Promise<void> {
  await db.raw({
    text: `
      update channel_accounts set settings = settings - '{rotation_id,rotating_until}'::text[]
      where project_id = $1 and kind = 'slack' and settings ->> 'rotation_id' = $2`,
    values: [rotationId],
  });
}

export interface ConfigPair {
  readonly configToken: string;
  readonly configRefreshToken: string;
  /** Undefined: not told. */
  readonly expiresAt: Date | undefined;
}

/** The account as it is then; undefined where it is gone. One that was saved anew meanwhile stays as it was saved. */
export async function keepPair(
  vault: Pick<Vault, 'open' | 'seal'>,
  db: TenantDatabase,
  spentRefreshToken: string,
  { configToken, configRefreshToken, expiresAt }: ConfigPair,
): Promise<OpenAccount | undefined> {
  return db.transaction(async (tx) => {
    const row = await holdAccount(tx, 'slack');
    if (row === undefined) return undefined;
    const account = openAccount(vault, tx.projectId, row);
    if (account.secrets.config_refresh_token !== spentRefreshToken) return account;
    const secrets = { ...account.secrets, config_token: configToken, config_refresh_token: configRefreshToken };
    const { rotation_id: _mine, rotating_until: _over, config_expires_at: _old, ...kept } = row.settings;
    const settings = { ...kept, ...(expiresAt !== undefined && { config_expires_at: expiresAt.toISOString() }) };
    await tx
      .updateTable('channel_accounts')
      .set({ settings: json(settings), ...sealSecrets(vault, tx.projectId, 'slack', secrets) })
      .where('kind', '=', 'slack')
      .execute();
    return { ...account, settings, secrets };
  });
}
