import { ApiError } from '../../../kernel/http/errors.ts';
import { renderEvent } from '../../events/index.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { Event } from './schema.ts';

export async function getEvent({
  caller,
  db,
  params,
}: WorkspaceRead<{ params: { event_id: string } }>): Promise<Event> {
  const events = workspaceDb(db, caller.workspaceId).selectFrom('events').selectAll();
  const row = await events.where('id', '=', params.event_id).executeTakeFirst();
  if (row !== undefined) return renderEvent(caller.workspaceId, row);
  throw new ApiError('not_found', { message: 'The workspace has no such event. GET /events lists what it has.' });
}
