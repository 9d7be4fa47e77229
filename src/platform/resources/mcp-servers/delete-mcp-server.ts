import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { McpServerPath } from './schema.ts';
import { removeMcpServer } from './store.ts';

export async function deleteMcpServer(request: ProjectChange<{ params: McpServerPath }>): Promise<void> {
  const { tx, caller, params, requestId } = request;
  const removed = await removeMcpServer(tx, params.name);
  if (removed === undefined) throw new ApiError('not_found');
  await appendEvent(tx, {
    type: 'mcp_server.deleted',
    actor: actorOf(caller),
    data: { name: params.name, auth_kind: removed.auth_kind, request_id: requestId },
  });
}
