/** Whose accounts a webhook speaks of: Meta knows no projects, so they are found by their numbers, over all of them. */
import type { Database } from '../../../kernel/db/database.ts';
import type { AccountRow } from '../accounts/account-store.ts';

export type FoundAccount = AccountRow & { readonly project_id: string };

export async function findAccountsOfNumbers(
  db: Database,
  numberIds: readonly string[],
): Promise<readonly FoundAccount[]> {
  if (numberIds.length === 0) return [];
  const { rows } = await db.query<FoundAccount>({
    text: `
      select a.*
      from channel_accounts a join projects p on p.id = a.project_id
      where a.kind = 'whatsapp' and a.account_id = any($1) and p.archived_at is null`,
    values: [numberIds],
  });
  return rows;
}

/** Whether somebody has set this as the token that Meta is to know: its SHA-256. */
export async function isVerifyToken(db: Database, hash: string): Promise<boolean> {
  const { rows } = await db.query({
    text: `select from channel_accounts where kind = 'whatsapp' and webhook_key_hash = $1 limit 1`,
    values: [hash],
  });
  return rows.length > 0;
}

/** Whether any project has a number of the business account. */
export async function isBusinessInUse(db: Database, businessAccountId: string): Promise<boolean> {
  const { rows } = await db.query({
    text: `
      select from channel_accounts
      where kind = 'whatsapp' and settings ->> 'business_account_id' = $1
      limit 1`,
    values: [businessAccountId],
  });
  return rows.length > 0;
}
