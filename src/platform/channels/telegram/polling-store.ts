/** Who fetches an account's messages: a lease in its settings, which a replacement of the account ends. */

import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { AccountRow } from '../accounts/account-store.ts';

const LEASE_SECONDS = 60;

/** Projects whose account nobody fetches for: from now on this replica does. */
export async function takeLeases(db: Database, replica: string, limit: number): Promise<readonly string[]> {
  const { rows } = await asLook(db).query<{ project_id: string }>({
    text: `
      with free as materialized (
        select a.project_id from channel_accounts a join projects p on p.id = a.project_id
        where a.kind = 'telegram' and a.settings ->> 'webhook_url' = '' and p.archived_at is null
          and coalesce((a.settings ->> 'polled_until')::timestamptz <= now(), true)
        order by a.project_id limit $2 for update of a skip locked
      )
      update channel_accounts a set settings = a.settings || ${leaseSql('$1')}
      from free where a.project_id = free.project_id and a.kind = 'telegram'
      returning a.project_id`,
    values: [replica, limit],
  });
  return rows.map(({ project_id }) => project_id);
}

/** The account as it is now; undefined where the lease is over, or it is another account. */
export async function renewLease(db: Database, replica: string, projectId: string): Promise<AccountRow | undefined> {
  const { rows } = await tenantDb(db, projectId).raw<AccountRow>({
    text: `
      update channel_accounts set settings = settings || ${leaseSql('$2')}
      where project_id = $1 and kind = 'telegram' and settings ->> 'polled_by' = $2
      returning kind, account_id, settings, sealed_secrets, secret_keys, webhook_key_hash, last_error, created_at, updated_at`,
    values: [replica],
  });
  return rows[0];
}

export async function endLease(db: Database, replica: string, projectId: string): Promise<void> {
  await tenantDb(db, projectId).raw({
    text: `
      update channel_accounts set settings = settings - '{polled_by,polled_until}'::text[]
      where project_id = $1 and kind = 'telegram' and settings ->> 'polled_by' = $2`,
    values: [replica],
  });
}

function leaseSql(replica: string): string {
  return `jsonb_build_object('polled_by', ${replica}::text, 'polled_until', now() + interval '${LEASE_SECONDS} seconds')`;
}
