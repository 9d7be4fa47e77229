import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderTopUp } from './render-top-up.ts';
import type { TopUp } from './schema.ts';
import { findTopUp } from './store.ts';

/** Throws `not_found`. */
export async function getTopUp({
  caller,
  db,
  params,
}: WorkspaceRead<{ params: { top_up_id: string } }>): Promise<TopUp> {
  const row = await findTopUp(workspaceDb(db, caller.workspaceId), params.top_up_id);
  if (row === undefined) {
    throw new ApiError('not_found', { message: 'The workspace has no such top-up. GET /wallet/top-ups lists them.' });
  }
  return renderTopUp(row);
}
