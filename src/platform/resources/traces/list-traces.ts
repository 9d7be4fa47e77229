import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { viewOf } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { listTraces as listRows } from '../../traces/index.ts';
import { renderTrace } from './render-trace.ts';
import type { TraceQuery } from './schema.ts';

/** A smith token sees its own smith's traces. */
export async function listTraces({ db, caller, query }: ProjectRead<{ query: TraceQuery }>) {
  if (query.smith_id !== undefined) requireSmith(caller, query.smith_id);
  const page = readPage(query, [viewOf(caller), 'traces']);
  const filter = {
    smithId: smithOf(caller) ?? query.smith_id,
    appId: query.app_id,
    runId: query.run_id,
    externalId: query.external_id,
    status: query.status,
    since: query.since === undefined ? undefined : readTimestamp(query.since),
  };
  return pageReply(await listRows(db, filter, page), page, (trace) => trace.id, renderTrace);
}
