import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { eventTypesOf } from '../../feed/event-types.ts';
import { renderEvent } from '../../feed/render-event.ts';
import type { EventQuery } from './schema.ts';
import { listEvents as listRows } from './store.ts';

export async function listEvents({ db, caller, query }: ProjectRead<{ query: EventQuery }>) {
  const page = readPage(query, [viewOf(caller), 'events']);
  const { rows, isCut } = await listRows(db, page, {
    types: query.type === undefined ? undefined : typesOf(query.type),
    smithId: query.smith_id,
    since: query.since === undefined ? undefined : readTimestamp(query.since),
  });
  return pageReply(
    rows,
    page,
    (row) => row.id,
    (row) => renderEvent(caller.projectId, row),
    isCut,
  );
}

/** The types of a family; what names none is looked up as it stands. */
function typesOf(selector: string): readonly string[] {
  const known = eventTypesOf(selector);
  return known.length > 0 ? known : [selector];
}
