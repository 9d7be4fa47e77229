/** Rows of channel accounts: the one that a project has of each kind. Secrets leave here sealed. */

import { type Selectable, sql } from 'kysely';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { json } from '../../../kernel/db/values.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { MessagingKind, TenantTables } from '../../tables.ts';

const COLUMNS = [
  'kind',
  'account_id',
  'settings',
  'sealed_secrets',
  'secret_keys',
  'webhook_key_hash',
  'last_error',
  'created_at',
  'updated_at',
] as const;

export type AccountRow = Pick<Selectable<TenantTables['channel_accounts']>, (typeof COLUMNS)[number]>;

export type NewAccount = Pick<
  AccountRow,
  'kind' | 'account_id' | 'settings' | 'sealed_secrets' | 'secret_keys' | 'webhook_key_hash'
>;

export async function findAccount(db: TenantDb, kind: MessagingKind): Promise<AccountRow | undefined> {
  return db.selectFrom('channel_accounts').select(COLUMNS).where('kind', '=', kind).executeTakeFirst();
}

/** Nobody else changes the row until the transaction ends. */
export async function holdAccount(db: TenantDb, kind: MessagingKind): Promise<AccountRow | undefined> {
  return db.selectFrom('channel_accounts').select(COLUMNS).where('kind', '=', kind).forUpdate().executeTakeFirst();
}

/** Undefined too where the project is archived: nobody writes to it any more. */
export async function findLiveAccount(db: TenantDb, kind: MessagingKind): Promise<AccountRow | undefined> {
  const row = await findAnyAccount(db, kind);
  return row?.is_live === true ? row : undefined;
}

/** `is_live`: the project is not archived. */
export async function findAnyAccount(
  db: TenantDb,
  kind: MessagingKind,
): Promise<(AccountRow & { readonly is_live: boolean }) | undefined> {
  const { rows } = await db.raw<AccountRow & { is_live: boolean }>({
    text: `
      select ${COLUMNS.map((column) => `a.${column}`).join(', ')}, p.archived_at is null as is_live
      from channel_accounts a join projects p on p.id = a.project_id
      where a.project_id = $1 and a.kind = $2`,
    values: [kind],
  });
  return rows[0];
}

/** In place of the one that is there. Undefined where another project has the provider's account. */
export async function storeAccount(
  db: TenantDb,
  { settings, ...account }: NewAccount,
): Promise<AccountRow | undefined> {
  const values = { ...account, settings: json(settings) };
  try {
    return await db
      .insertInto('channel_accounts')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'kind']).doUpdateSet({
          ...values,
          last_error: null,
          updated_at: sql<Date>`now()`,
        }),
      )
      .returning(COLUMNS)
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (isUniqueViolation(error, 'channel_accounts_one_project')) return undefined;
    throw error;
  }
}

/** The account as it was; undefined where there is none. `accountId`: only while it is this one. */
export async function removeAccount(
  db: TenantDb,
  kind: MessagingKind,
  accountId?: string,
): Promise<AccountRow | undefined> {
  let removal = db.deleteFrom('channel_accounts').where('kind', '=', kind);
  if (accountId !== undefined) removal = removal.where('account_id', '=', accountId);
  return removal.returning(COLUMNS).executeTakeFirst();
}

/** As long as the project still has this account. */
export async function noteAccountError(
  db: TenantDb,
  account: { readonly kind: MessagingKind; readonly accountId: string },
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  await db
    .updateTable('channel_accounts')
    .set({ last_error: json({ ...error, at: systemClock.now().toISOString() }) })
    .where('kind', '=', account.kind)
    .where('account_id', '=', account.accountId)
    .execute();
}
