import type { Static, TSchema } from 'typebox';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import {
  ACCOUNTS_CHANNEL,
  type AccountRow,
  type CheckedAccount,
  findAccount,
  noteAccountError,
  sealSecrets,
  storeAccount,
} from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import type { AccountDependencies } from './dependencies.ts';
import { disconnectAccount } from './disconnect-account.ts';
import { renderAccount } from './render-account.ts';
import type { ShownAccount } from './schema.ts';

/** Checked at the provider, stored, and made known to the provider: it may call as soon as it knows. */
export async function putAccount<B extends TSchema>(
  deps: AccountDependencies,
  of: AccountKind<B>,
  request: ProjectRead,
  body: Static<B>,
): Promise<ShownAccount> {
  const { db, log } = request;
  const checked = await of.check(db.projectId, body);
  const before = await findAccount(db, of.kind);
  const row = await storeAndRegister(deps, of, request, checked);
  if (before !== undefined && before.account_id !== row.account_id) {
    await disconnectAccount(deps, of, { projectId: db.projectId, row: before, log });
  }
  return renderAccount(of, db.projectId, row);
}

/** Two calls at once may be stored in one order and reach the provider in the other: whoever sees that begins anew. */
const MAX_TRIES = 10;

async function storeAndRegister(
  deps: AccountDependencies,
  of: Pick<AccountKind, 'kind' | 'name'>,
  request: ProjectRead,
  checked: CheckedAccount,
): Promise<AccountRow> {
  for (let attempt = 1; ; attempt += 1) {
    const row = await store(deps, of, request, checked);
    if (checked.register === undefined) return row;
    await register(of, request, checked);
    const stored = await findAccount(request.db, of.kind);
    if (stored?.sealed_secrets === row.sealed_secrets || attempt === MAX_TRIES) return row;
  }
}

async function store(
  { vault, accounts }: AccountDependencies,
  { kind, name }: Pick<AccountKind, 'kind' | 'name'>,
  { db }: ProjectRead,
  { accountId, settings, secrets, webhookKeyHash }: CheckedAccount,
): Promise<AccountRow> {
  return db.transaction(async (tx) => {
    const row = await storeAccount(tx, {
      kind,
      account_id: accountId,
      settings,
      ...sealSecrets(vault, tx.projectId, kind, secrets),
      webhook_key_hash: webhookKeyHash,
    });
    if (row === undefined) {
      throw new ApiError('address_in_use', {
        message: `Another project has this ${name}, and its messages go there. Take another one, or delete it there first.`,
      });
    }
    await tx.notify(ACCOUNTS_CHANNEL, tx.projectId);
    tx.afterCommit(() => accounts.forget(tx.projectId));
    return row;
  });
}

async function register(
  { kind }: Pick<AccountKind, 'kind'>,
  { db }: ProjectRead,
  { accountId, register: tellProvider }: CheckedAccount,
): Promise<void> {
  try {
    await tellProvider?.();
  } catch (error) {
    if (error instanceof ApiError) {
      await noteAccountError(db, { kind, accountId }, { code: error.code, message: error.message });
    }
    throw error;
  }
}
