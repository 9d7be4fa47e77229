import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { eraseConnections } from '../../connections/index.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import type { ConnectionPath } from './schema.ts';
import { isLiveSmith } from './store.ts';

/** Its credential is erased here at once, and revoked where it comes from soon after. */
export function deleteConnection(deps: Pick<ConnectionOperationDependencies, 'jobs'>) {
  return async ({ tx, params }: ProjectChange<{ params: ConnectionPath }>): Promise<void> => {
    const { sid, cid } = params;
    const isThere = await isLiveSmith(tx, sid);
    if (!isThere || (await eraseConnections(deps, tx, { id: cid, smithId: sid })) === 0)
      throw new ApiError('not_found');
  };
}
