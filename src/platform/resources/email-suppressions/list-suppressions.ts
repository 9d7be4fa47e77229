import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { listSuppressions as listRows } from '../../channels/index.ts';
import { renderSuppression } from './render-suppression.ts';
import type { SuppressionListQuery } from './schema.ts';

export async function listSuppressions({ db, caller, query }: ProjectRead<{ query: SuppressionListQuery }>) {
  const page = readPage(query, [viewOf(caller), 'email_suppressions']);
  return pageReply(await listRows(db, page), page, (row) => row.id, renderSuppression);
}
