import type { ProjectRead } from '../../access/operation.ts';
import { findAccount } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import { renderAccount } from './render-account.ts';

export function getAccount(of: Pick<AccountKind, 'kind' | 'show'>) {
  return async ({ db }: ProjectRead) => renderAccount(of, db.projectId, await findAccount(db, of.kind));
}
