/** Apps: one row for a client in a project, whose tokens all name it, until the organization disconnects it. */
import type { Executor } from '../../kernel/db/database.ts';
import type { PageRequest } from '../../kernel/http/paging.ts';
import { mintId } from '../../kernel/ids/ids.ts';

export interface AppRow {
  readonly id: string;
  readonly project_id: string;
  readonly organization_id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly scopes: string[];
  readonly created_at: Date;
  readonly revoked_at: Date | null;
}

const COLUMNS = 'id, project_id, organization_id, client_id, client_name, scopes, created_at, revoked_at';

/** The app that this client is in the project from now on: with what it may do already, where it was let in before. */
export async function connectApp(
  tx: Executor,
  app: Pick<AppRow, 'project_id' | 'client_id' | 'client_name'> & { readonly scopes: readonly string[] },
): Promise<string> {
  const { rows } = await tx.query<{ id: string }>({
    text: `
      insert into oauth_apps (project_id, id, organization_id, client_id, client_name, scopes)
      select p.id, $2, p.organization_id, $3, $4, $5 from projects p where p.id = $1
      on conflict (project_id, client_id) where revoked_at is null do update
        set client_name = excluded.client_name,
          scopes = array(select distinct unnest(oauth_apps.scopes || excluded.scopes) order by 1)
      returning id`,
    values: [app.project_id, mintId('app'), app.client_id, app.client_name, app.scopes],
  });
  return rows[0]?.id ?? '';
}

/** Up to one row more than the page holds, newest first; disconnected ones too. */
export async function listApps(db: Executor, organizationId: string, page: PageRequest): Promise<AppRow[]> {
  const { rows } = await db.query<AppRow>({
    text: `
      select ${COLUMNS} from oauth_apps
      where organization_id = $1 and ($2::text is null or id < $2) order by id desc limit $3`,
    values: [organizationId, page.after ?? null, page.limit + 1],
  });
  return rows;
}

/**
 * Disconnects the client of this app from every project of the organization. The tokens that it held there and that stood;
 * undefined where the organization has no such app.
 */
export async function disconnectApp(
  tx: Executor,
  organizationId: string,
  id: string,
): Promise<readonly { readonly project_id: string; readonly token_id: string }[] | undefined> {
  const found = await tx.query<{ client_id: string }>({
    text: 'select client_id from oauth_apps where organization_id = $1 and id = $2',
    values: [organizationId, id],
  });
  const [app] = found.rows;
  if (app === undefined) return undefined;
  // Codes that wait would let it in again. Before the apps, as redemptions hold them in that order.
  await tx.query({
    text: `
      update oauth_requests r set status = 'denied' from projects p
      where r.client_id = $2 and r.deployment_id is null and r.status = 'approved'
        and p.id = r.project_id and p.organization_id = $1`,
    values: [organizationId, app.client_id],
  });
  await tx.query({
    text: `
      update oauth_apps set revoked_at = now()
      where organization_id = $1 and client_id = $2 and revoked_at is null`,
    values: [organizationId, app.client_id],
  });
  const { rows } = await tx.query<{ project_id: string; token_id: string }>({
    text: `
      select t.project_id, t.id as token_id
      from oauth_apps a join tokens t on t.project_id = a.project_id and t.app_id = a.id
      where a.organization_id = $1 and a.client_id = $2 and t.revoked_at is null`,
    values: [organizationId, app.client_id],
  });
  return rows;
}
