import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderAgent } from './render-agent.ts';
import { listAgents as listRows } from './store.ts';

interface AgentQuery {
  limit?: number;
  cursor?: string;
  slug?: string;
}

export async function listAgents({ db, caller, query }: ProjectRead<{ query: AgentQuery }>) {
  const page = readPage(query, [viewOf(caller), 'agents', query.slug]);
  const { rows, isCut } = await listRows(db, page, query.slug);
  return pageReply(rows, page, (row) => row.id, renderAgent, isCut);
}
