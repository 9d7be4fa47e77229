import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { viewOf } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { renderInboundEvent } from './render-inbound-event.ts';
import type { InboundEventQuery } from './schema.ts';
import { listInboundEvents as listRows } from './store.ts';

/** A smith token sees what came to its own smith. */
export async function listInboundEvents({ db, caller, query }: ProjectRead<{ query: InboundEventQuery }>) {
  if (query.smith_id !== undefined) requireSmith(caller, query.smith_id);
  const page = readPage(query, [viewOf(caller), 'inbound_events']);
  const { rows, isCut } = await listRows(db, page, {
    source: query.source,
    smithId: smithOf(caller) ?? query.smith_id,
    since: query.since === undefined ? undefined : readTimestamp(query.since),
  });
  return pageReply(rows, page, (row) => row.id, renderInboundEvent, isCut);
}
