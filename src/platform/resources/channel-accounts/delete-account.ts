import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { ACCOUNTS_CHANNEL, disconnectKind, removeAccount } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import type { AccountDependencies } from './dependencies.ts';
import { disconnectAccount } from './disconnect-account.ts';

export function deleteAccount(deps: AccountDependencies, of: Pick<AccountKind, 'kind' | 'disconnect'>) {
  return async ({ db, log }: ProjectRead): Promise<void> => {
    const { projectId } = db;
    const row = await db.transaction(async (tx) => {
      const removed = await removeAccount(tx, of.kind);
      if (removed === undefined) throw new ApiError('not_found');
      await disconnectKind(tx, of.kind);
      await tx.notify(ACCOUNTS_CHANNEL, projectId);
      tx.afterCommit(() => deps.accounts.forget(projectId));
      return removed;
    });
    await disconnectAccount(deps, of, { projectId, row, log });
  };
}
