import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Caller } from '../../access/caller.ts';
import { type AuthorizeRequest, findPending } from '../../authorization-server/index.ts';

/**
 * A request that waits, and that the caller may settle: one for an MCP server of its project, or an app's with an organization
 * key. Throws `not_found`.
 */
export async function findRequestOf(db: Executor, caller: Caller, id: string): Promise<AuthorizeRequest> {
  const request = await findPending(db, id);
  if (request !== undefined && isTheirs(request, caller)) return request;
  throw new ApiError('not_found', {
    message: 'No request with this id waits for this caller: it is settled, too old, or another’s.',
  });
}

function isTheirs({ deployment_id, project_id }: AuthorizeRequest, caller: Caller): boolean {
  if (deployment_id === null) return caller.kind === 'organization';
  return caller.kind === 'tenant' && caller.projectId === project_id;
}
