import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { systemDb } from '../../store/tenant-db.ts';
import { renderProject } from './render-project.ts';
import { listProjects as listRows } from './store.ts';

export async function listProjects({
  db,
  caller,
  query,
}: OrganizationRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'organization.projects']);
  const rows = await listRows(systemDb(db), caller.organizationId, page);
  return pageReply(rows, page, (row) => row.id, renderProject);
}
