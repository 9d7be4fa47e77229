import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { type AppRow, listApps as listRows } from '../../authorization-server/index.ts';
import type { AppInstall } from './schema.ts';

export async function listApps({
  db,
  caller,
  query,
}: OrganizationRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'organization.apps']);
  const rows = await listRows(db, caller.organizationId, page);
  return pageReply(rows, page, (row) => row.id, renderApp);
}

function renderApp(row: AppRow): AppInstall {
  return {
    id: row.id,
    organization: row.organization_id,
    client_id: row.client_id,
    client_name: row.client_name,
    project: row.project_id,
    scope: row.scopes.join(' '),
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}
