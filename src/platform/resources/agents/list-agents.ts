import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderAgent } from './render-agent.ts';
import { listAgents as listRows } from './store.ts';

export async function listAgents({ db, caller, query }: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'agents']);
  const rows = await listRows(db, page);
  return pageReply(rows, page, (row) => row.id, renderAgent);
}
