import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { renderVersion } from './render-agent.ts';
import type { AgentPath } from './schema.ts';
import { findAgent, listVersions as listRows } from './store.ts';

export async function listVersions({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: AgentPath; query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query);
  const tenant = tenantDb(db, caller.projectId);
  if ((await findAgent(tenant, params.aid)) === undefined) throw new ApiError('not_found');
  const rows = await listRows(tenant, params.aid, page);
  return pageReply(rows, page, (row) => String(row.version), renderVersion);
}
