import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { renderInboundEvent } from './render-inbound-event.ts';
import type { InboundEventQuery } from './schema.ts';
import { listInboundEvents as listRows } from './store.ts';

export async function listInboundEvents({ db, caller, query }: ProjectRead<{ query: InboundEventQuery }>) {
  const page = readPage(query, [viewOf(caller), 'inbound_events']);
  const own = smithOf(caller);
  const isForeign = own !== undefined && query.smith_id !== undefined && query.smith_id !== own;
  const { rows, isCut } = isForeign
    ? { rows: [], isCut: false }
    : await listRows(db, page, {
        source: query.source,
        smithId: own ?? query.smith_id,
        since: query.since === undefined ? undefined : readTimestamp(query.since),
      });
  return pageReply(rows, page, (row) => row.id, renderInboundEvent, isCut);
}
