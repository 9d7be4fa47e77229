import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderConnection } from './render-connection.ts';
import type { Connection, ConnectionPath, SmithPath } from './schema.ts';
import { findConnection, isLiveSmith, listConnections as listRows } from './store.ts';

type Query = { limit?: number; cursor?: string };

export async function listConnections({ db, caller, params, query }: ProjectRead<{ params: SmithPath; query: Query }>) {
  const page = readPage(query, [viewOf(caller), 'smiths.connections', params.sid]);
  if (!(await isLiveSmith(db, params.sid))) throw new ApiError('not_found');
  return pageReply(await listRows(db, params.sid, page), page, (row) => row.id, renderConnection);
}

export async function getConnection({ db, params }: ProjectRead<{ params: ConnectionPath }>): Promise<Connection> {
  const row = await findConnection(db, params.sid, params.cid);
  if (row === undefined) throw new ApiError('not_found');
  return renderConnection(row);
}
