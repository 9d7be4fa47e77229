import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderVersion } from './render-agent.ts';
import type { AgentPath } from './schema.ts';
import { findAgent, listVersions as listRows } from './store.ts';

export async function listVersions({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: AgentPath; query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'agents.versions', params.aid]);
  if ((await findAgent(db, params.aid)) === undefined) throw new ApiError('not_found');
  const { rows, isCut } = await listRows(db, params.aid, page);
  return pageReply(rows, page, (row) => String(row.version), renderVersion, isCut);
}
