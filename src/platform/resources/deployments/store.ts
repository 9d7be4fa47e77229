/** Rows of deployments. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, MessagingKind, TenantTables } from '../../tables.ts';

const COLUMNS = [
  'id',
  'kind',
  'smith_id',
  'agent_id',
  'address',
  'provider',
  'provider_metadata',
  'secret_keys',
  'status',
  'created_at',
] as const;

/** Without the sealed secrets. */
export type DeploymentRow = Pick<Selectable<TenantTables['deployments']>, (typeof COLUMNS)[number]>;

export type NewDeployment = Omit<DeploymentRow, 'created_at'> & { readonly sealed_secrets: string | null };

/** Up to one row more than the page holds, newest first; with a smith, its own alone. */
export async function listDeployments(
  db: TenantDb,
  smithId: string | undefined,
  page: PageRequest,
): Promise<DeploymentRow[]> {
  const all = db.selectFrom('deployments').select(COLUMNS);
  const visible = smithId === undefined ? all : all.where('smith_id', '=', smithId);
  return pageById(visible, 'deployments.id', page).execute();
}

export async function findDeployment(db: TenantDb, id: string): Promise<DeploymentRow | undefined> {
  return db.selectFrom('deployments').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

/** Nobody else changes the row until the transaction ends. */
export async function holdDeployment(db: TenantDb, id: string): Promise<DeploymentRow | undefined> {
  return db.selectFrom('deployments').select(COLUMNS).where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function insertDeployment(db: TenantDb, deployment: NewDeployment): Promise<DeploymentRow> {
  return db
    .insertInto('deployments')
    .values({ ...deployment, provider_metadata: json(deployment.provider_metadata) })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Whom a deployment of a messaging channel is for, beside what every deployment has. */
export interface NewConnection extends NewDeployment {
  /** Empty: it is reached through the project's account of the kind. */
  readonly account_id: string;
  readonly start_token_hash: string | null;
  readonly start_token_expires_at: Date | null;
}

/** Undefined where another deployment has the address, or is the account's for all senders. */
export async function insertConnection(db: TenantDb, connection: NewConnection): Promise<DeploymentRow | undefined> {
  return db
    .insertInto('deployments')
    .values({ ...connection, provider_metadata: json(connection.provider_metadata) })
    .onConflict((conflict) => conflict.doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** What the project's account of a kind is called and set to; it stays until the transaction ends. Undefined for none. */
export async function holdAccount(
  db: TenantDb,
  kind: MessagingKind,
): Promise<{ readonly accountId: string; readonly settings: JsonObject } | undefined> {
  return db
    .selectFrom('channel_accounts')
    .select(['account_id as accountId', 'settings'])
    .where('kind', '=', kind)
    .forShare()
    .executeTakeFirst();
}

/** What waits there begins no turn any more. */
export async function ignoreWaiting(db: TenantDb, id: string): Promise<void> {
  await db.raw({
    text: `
      update inbound_events e set state = 'ignored', message = null, sealed_reply = null
      from channel_chats c
      where c.project_id = $1 and c.deployment_id = $2 and e.project_id = $1 and e.chat_id = c.id and e.state = 'waiting'`,
    values: [id],
  });
}

export async function replaceMetadata(db: TenantDb, id: string, metadata: JsonObject): Promise<DeploymentRow> {
  return db
    .updateTable('deployments')
    .set({ provider_metadata: json(metadata), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

export async function removeDeployment(db: TenantDb, id: string): Promise<void> {
  await db.deleteFrom('deployments').where('id', '=', id).execute();
}
