import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { viewOf } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { tenantDb } from '../../store/tenant-db.ts';
import type { RunStatus } from '../../tables.ts';
import { renderRun } from './render-run.ts';
import type { SmithPath } from './schema.ts';
import { listRuns as listRows } from './store.ts';

interface PageQuery {
  limit?: number;
  cursor?: string;
}

interface RunQuery extends PageQuery {
  smith_id?: string;
  agent_id?: string;
  status?: RunStatus;
  external_id_prefix?: string;
  since?: string;
}

export async function listSmithRuns({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: SmithPath; query: PageQuery }>) {
  const page = readPage(query, [viewOf(caller), 'smiths.runs', params.sid]);
  const { rows, isCut } = await listRows(db, { smithId: params.sid }, page);
  if (rows.length === 0 && !(await smithExists(db, params.sid))) throw new ApiError('not_found');
  return pageReply(rows, page, (row) => row.id, renderRun, isCut);
}

/** A smith token sees its own smith's runs. */
export async function listRuns({ db, caller, query }: ProjectRead<{ query: RunQuery }>) {
  if (query.smith_id !== undefined) requireSmith(caller, query.smith_id);
  const page = readPage(query, [viewOf(caller), 'runs']);
  const filter = {
    smithId: caller.kind === 'smith' ? caller.smithId : query.smith_id,
    agentId: query.agent_id,
    status: query.status,
    externalIdPrefix: query.external_id_prefix,
    since: query.since === undefined ? undefined : readTimestamp(query.since),
  };
  const { rows, isCut } = await listRows(db, filter, page);
  return pageReply(rows, page, (row) => row.id, renderRun, isCut);
}

/** An archived smith's runs can still be read. */
async function smithExists(scope: ReturnType<typeof tenantDb>, smithId: string): Promise<boolean> {
  const query = scope.selectFrom('smiths').select('id').where('id', '=', smithId);
  return (await query.executeTakeFirst()) !== undefined;
}
