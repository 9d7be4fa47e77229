import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderMcpServer } from './render-mcp-server.ts';
import type { McpServerPath } from './schema.ts';
import { findMcpServer, listMcpServers as listRows } from './store.ts';

export async function listMcpServers({
  db,
  caller,
  query,
}: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'mcp_servers']);
  const { rows, isCut } = await listRows(db, page);
  return pageReply(rows, page, (row) => row.id, renderMcpServer, isCut);
}

export async function getMcpServer({ db, params }: ProjectRead<{ params: McpServerPath }>) {
  const row = await findMcpServer(db, params.name);
  if (row === undefined) throw new ApiError('not_found');
  return renderMcpServer(row);
}
