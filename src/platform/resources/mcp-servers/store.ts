/** Rows of registered MCP servers. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { McpToolEntry, TenantTables } from '../../tables.ts';

type Columns = Selectable<TenantTables['mcp_servers']>;

/** Without the sealed secret. */
export type McpServerRow = Omit<
  Columns,
  | 'project_id'
  | 'sealed_secret'
  | 'revision'
  | 'tools_hash'
  | 'protocol'
  | 'protocol_found_at'
  | 'address_since'
  | 'updated_at'
> & { readonly tools: readonly McpToolEntry[] | null };

/** As it is held by this transaction. */
export type HeldMcpServer = Pick<
  Columns,
  | 'id'
  | 'url'
  | 'auth_kind'
  | 'auth_provider'
  | 'auth_client_mode'
  | 'sealed_secret'
  | 'tool_allowlist'
  | 'approval_policy'
  | 'catalog_slug'
>;

export type NewMcpServer = HeldMcpServer & { readonly name: string };

/** What a replacement does to what is known of the server. */
export interface Forgotten {
  /** The registration says something else than before. */
  readonly isOther: boolean;
  /** Other tools may be listed now. */
  readonly isPending: boolean;
  /** Another server may stand there: the tools are not its. */
  readonly isElsewhere: boolean;
  /** What users have connected before was not meant for it. */
  readonly isOtherIssuer: boolean;
}

const SHOWN = [
  'id',
  'name',
  'url',
  'catalog_slug',
  'auth_kind',
  'auth_provider',
  'auth_client_mode',
  'tool_allowlist',
  'approval_policy',
  'status',
  'discovery_error',
  'tools_refreshed_at',
  'last_call_error',
  'last_call_error_at',
  'created_at',
] as const;

function selectServers(db: TenantDb) {
  return db
    .selectFrom('mcp_servers')
    .leftJoin('mcp_tool_lists as list', (join) =>
      join.onRef('list.server_id', '=', 'mcp_servers.id').onRef('list.hash', '=', 'mcp_servers.tools_hash'),
    )
    .select(SHOWN.map((column) => `mcp_servers.${column}` as const))
    .select('list.tools');
}

/** Up to one row more than the page holds, newest first, as far as they fit into a page. */
export async function listMcpServers(db: TenantDb, page: PageRequest): Promise<FittedPage<McpServerRow>> {
  const sized = selectServers(db).select(sql<number>`coalesce(octet_length(list.tools::text), 0)`.as('size'));
  return fitPage(db, pageById(sized, 'mcp_servers.id', page));
}

export async function findMcpServer(db: TenantDb, name: string): Promise<McpServerRow | undefined> {
  return selectServers(db).where('mcp_servers.name', '=', name).executeTakeFirst();
}

/** Nobody else changes the row until the transaction ends. */
export async function holdMcpServer(db: TenantDb, name: string): Promise<HeldMcpServer | undefined> {
  return db
    .selectFrom('mcp_servers')
    .select([
      'id',
      'url',
      'auth_kind',
      'auth_provider',
      'auth_client_mode',
      'sealed_secret',
      'tool_allowlist',
      'approval_policy',
      'catalog_slug',
    ])
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
}

export async function countMcpServers(db: TenantDb): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: 'select count(*)::int as count from mcp_servers where project_id = $1',
  });
  return rows[0]?.count ?? 0;
}

/** False where the name is taken; waits for one that is just being registered. */
export async function insertMcpServer(db: TenantDb, server: NewMcpServer): Promise<boolean> {
  const row = await db
    .insertInto('mcp_servers')
    .values({ ...server, approval_policy: json(server.approval_policy) })
    .onConflict((conflict) => conflict.columns(['project_id', 'name']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function replaceMcpServer(
  db: TenantDb,
  { id, approval_policy, ...server }: HeldMcpServer,
  { isOther, isPending, isElsewhere, isOtherIssuer }: Forgotten,
): Promise<void> {
  await db
    .updateTable('mcp_servers')
    .set({
      ...server,
      approval_policy: json(approval_policy),
      updated_at: sql<Date>`now()`,
      ...(isOther && { revision: sql<number>`revision + 1` }),
      ...(isOtherIssuer && { address_since: sql<Date>`clock_timestamp()` }),
      ...(isPending && { status: 'pending', discovery_error: null, protocol: null, protocol_found_at: null }),
      ...(isElsewhere && {
        tools_hash: null,
        tools_refreshed_at: null,
        last_call_error: null,
        last_call_error_at: null,
      }),
    })
    .where('id', '=', id)
    .execute();
}

/** With what it listed; turns that began with it do without. Undefined when there is no such server. */
export async function removeMcpServer(
  db: TenantDb,
  name: string,
): Promise<Pick<HeldMcpServer, 'id' | 'auth_kind'> | undefined> {
  const removed = await db
    .deleteFrom('mcp_servers')
    .where('name', '=', name)
    .returning(['id', 'auth_kind'])
    .executeTakeFirst();
  if (removed === undefined) return undefined;
  await db.deleteFrom('mcp_tool_lists').where('server_id', '=', removed.id).execute();
  return removed;
}
