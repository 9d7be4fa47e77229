import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { eraseServerAccounts } from '../../connections/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { McpServerDependencies } from './dependencies.ts';
import type { McpServerPath } from './schema.ts';
import { removeMcpServer } from './store.ts';

/** With the accounts that users have connected to it. */
export function deleteMcpServer(deps: Pick<McpServerDependencies, 'jobs'>) {
  return async (request: ProjectChange<{ params: McpServerPath }>): Promise<void> => remove(deps, request);
}

async function remove(
  deps: Pick<McpServerDependencies, 'jobs'>,
  { tx, caller, params, requestId }: ProjectChange<{ params: McpServerPath }>,
): Promise<void> {
  const removed = await removeMcpServer(tx, params.name);
  if (removed === undefined) throw new ApiError('not_found');
  await eraseServerAccounts(deps, tx, { id: removed.id, name: params.name });
  await appendEvent(tx, {
    type: 'mcp_server.deleted',
    actor: actorOf(caller),
    data: { name: params.name, auth_kind: removed.auth_kind, request_id: requestId },
  });
}
