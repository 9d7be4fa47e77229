import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { listRevisions as listRows } from '../../smiths/revision-store.ts';
import { findSmith } from '../../smiths/smith-store.ts';
import { renderRevision } from './render-smith.ts';
import type { SmithPath } from './schema.ts';

export async function listRevisions({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: SmithPath; query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'smiths.revisions', params.sid]);
  if ((await findSmith(db, params.sid)) === undefined) throw new ApiError('not_found');
  const { rows, isCut } = await listRows(db, params.sid, page);
  return pageReply(rows, page, (row) => String(row.version), renderRevision, isCut);
}
