import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderSmith } from './render-smith.ts';
import type { SmithQuery } from './schema.ts';
import { listSmiths as listRows } from './smith-list.ts';

export async function listSmiths({ db, caller, query }: ProjectRead<{ query: SmithQuery }>) {
  const page = readPage(query, [viewOf(caller), 'smiths']);
  const visible = caller.kind === 'smith' ? caller.smithId : undefined;
  const { rows, isCut } = await listRows(db, page, { ...query, id: visible });
  return pageReply(rows, page, (row) => row.id, renderSmith, isCut);
}
