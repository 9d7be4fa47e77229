/** Whose domain a mail is for: who brings it by SMTP names an address, and no project. */
import type { Database } from '../../../kernel/db/database.ts';
import type { AccountRow } from '../accounts/account-store.ts';

export async function findDomain(
  db: Database,
  domain: string,
): Promise<(AccountRow & { readonly project_id: string }) | undefined> {
  const { rows } = await db.query<AccountRow & { readonly project_id: string }>({
    text: `
      select a.*
      from channel_accounts a join projects p on p.id = a.project_id
      where a.kind = 'email' and a.account_id = $1 and p.archived_at is null`,
    values: [domain],
  });
  return rows[0];
}
