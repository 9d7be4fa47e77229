import type { AccountRow } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import type { ShownAccount } from './schema.ts';

/** The public shape of a row, or of none: names of secrets, never their values. */
export function renderAccount(
  { show }: Pick<AccountKind, 'show'>,
  projectId: string,
  row: AccountRow | undefined,
): ShownAccount {
  return {
    ...show(row, projectId),
    configured: row !== undefined,
    secret_keys: row?.secret_keys ?? [],
    last_error: row?.last_error ?? null,
    created_at: row?.created_at.toISOString() ?? null,
    updated_at: row?.updated_at.toISOString() ?? null,
  };
}
