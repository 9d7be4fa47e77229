import type { Logger } from '../../../kernel/log/log.ts';
import { type AccountRow, openAccount } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import type { AccountDependencies } from './dependencies.ts';

/** What the provider goes on to send is refused here in any case: a failure is the operator's to read. */
export async function disconnectAccount(
  { vault }: Pick<AccountDependencies, 'vault'>,
  { kind, disconnect }: Pick<AccountKind, 'kind' | 'disconnect'>,
  { projectId, row, log }: { readonly projectId: string; readonly row: AccountRow; readonly log: Logger },
): Promise<void> {
  try {
    await disconnect(openAccount(vault, projectId, row));
  } catch (error) {
    log.warn({ err: error, projectId, kind }, 'a channel account could not be taken down at its provider');
  }
}
