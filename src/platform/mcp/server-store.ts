/** Rows of servers as the client of the protocol reads and writes them. */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { createKeyedBatcher } from '../../kernel/event-loop/batcher.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { McpAuthKind, McpPolicyRule, McpProtocol, McpServerStatus, McpToolEntry } from '../tables.ts';
import type { ToolList } from './list-entries.ts';

/** A registration, as far as calls need it. */
export interface RegisteredServer {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly auth_kind: McpAuthKind;
  readonly auth_provider: string | null;
  readonly sealed_secret: string | null;
  readonly tool_allowlist: readonly string[] | null;
  readonly approval_policy: readonly McpPolicyRule[];
  readonly revision: number;
  readonly tools_hash: string | null;
  /** Null: to be found out, because it never was or a day ago. */
  readonly protocol: McpProtocol | null;
  /** The list is older than it should be. */
  readonly is_stale: boolean;
  /** The last attempt to list its tools failed. */
  readonly is_failing: boolean;
}

/** A server that was upgraded still answers as before: what was found out is asked again after this time. */
const PROTOCOL_KEPT = '1 day';
const LIST_KEPT = '10 minutes';
/** How long a list that was replaced stays for turns that are just beginning with it. */
const REPLACED_KEPT = '1 hour';

const COLUMNS = `
  m.id, m.name, m.url, m.auth_kind, m.auth_provider, m.sealed_secret, m.tool_allowlist, m.approval_policy, m.revision,
  m.tools_hash, case when m.protocol_found_at > now() - interval '${PROTOCOL_KEPT}' then m.protocol end as protocol,
  coalesce(m.tools_refreshed_at < now() - interval '${LIST_KEPT}', true) as is_stale,
  m.status in ('unreachable', 'auth_required', 'failed') as is_failing`;

/** As it stands after the call; one statement for all who ask in one moment. */
export function findServer(db: TenantDb, id: string): Promise<RegisteredServer | undefined> {
  return readersOf(db).find(db.projectId, id);
}

export interface ServerLists extends RegisteredServer {
  /** Those of the lists that were asked for. */
  readonly lists: readonly { readonly hash: string; readonly tools: readonly McpToolEntry[] }[] | null;
}

/** What a turn has of a server: the list of this hash, and the present one. */
export interface WantedServer {
  readonly id: string;
  readonly hash: string | null;
  /** Of these hashes the caller has the lists. */
  readonly known: readonly string[];
}

/** Those that are still there, with the lists that the caller has not; one statement for all who ask in one moment. */
export async function listServersWithTools(db: TenantDb, wanted: readonly WantedServer[]): Promise<ServerLists[]> {
  const { list } = readersOf(db);
  const servers = await Promise.all(wanted.map((each) => list(db.projectId, each)));
  return servers.filter((server) => server !== undefined);
}

interface Readers {
  find(projectId: string, id: string): Promise<RegisteredServer | undefined>;
  list(projectId: string, wanted: WantedServer): Promise<ServerLists | undefined>;
}

/** For each store. */
const readers = new WeakMap<Executor, Readers>();
const LIMITS = { maxItems: 100, patienceMs: 20 };

function readersOf(db: TenantDb): Readers {
  const executor = executorOf(db);
  const known = readers.get(executor);
  if (known !== undefined) return known;
  const created: Readers = {
    find: createKeyedBatcher((projectId, ids) => findServers(executor, projectId, ids), LIMITS),
    list: createKeyedBatcher((projectId, wanted) => findServerLists(executor, projectId, wanted), LIMITS),
  };
  readers.set(executor, created);
  return created;
}

async function findServers(executor: Executor, projectId: string, ids: readonly string[]) {
  const { rows } = await executor.query<RegisteredServer>({
    isQuick: true,
    text: `select ${COLUMNS} from mcp_servers m where m.project_id = $1 and m.id = any ($2::text[])`,
    values: [projectId, [...ids]],
  });
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

async function findServerLists(executor: Executor, projectId: string, wanted: readonly WantedServer[]) {
  const { rows } = await executor.query<ServerLists & { position: number }>({
    text: `
      select w.position::int, ${COLUMNS}, l.lists
      from jsonb_to_recordset($2::jsonb) as w (position int, id text, hash text, known jsonb)
      join mcp_servers m on m.project_id = $1 and m.id = w.id
      left join lateral (
        select jsonb_agg(jsonb_build_object('hash', t.hash, 'tools', t.tools)) as lists
        from mcp_tool_lists t
        where t.project_id = $1 and t.server_id = m.id and t.hash in (w.hash, m.tools_hash) and not w.known ? t.hash
      ) l on true`,
    values: [projectId, json(wanted.map((each, position) => ({ position, ...each })))],
  });
  const found = new Map(rows.map(({ position, ...server }) => [position, server]));
  return wanted.map((_, position) => found.get(position));
}

/** What discovery found: the list takes the place of the one before. Nothing happens where the registration has changed since. */
export async function storeTools(
  db: TenantDb,
  server: Pick<RegisteredServer, 'id' | 'revision'>,
  found: ToolList,
  protocol: McpProtocol,
  note: string | null,
): Promise<void> {
  await db.raw({
    text: `
      with server as (
        update mcp_servers set
          status = 'ready', discovery_error = $7, tools_hash = $4, tools_refreshed_at = now(),
          protocol = $6, protocol_found_at = now()
        where project_id = $1 and id = $2 and revision = $3
        returning id
      ), stored as (
        insert into mcp_tool_lists (project_id, server_id, hash, tools, tool_count)
        select $1, id, $4, $5::jsonb, jsonb_array_length($5::jsonb) from server
        on conflict (project_id, server_id, hash) do update set replaced_at = null
      )
      update mcp_tool_lists l set replaced_at = now()
      from server where l.project_id = $1 and l.server_id = server.id and l.hash <> $4 and l.replaced_at is null`,
    values: [server.id, server.revision, found.hash, json(found.tools), json(protocol), note],
  });
}

/** The last good tools stay. */
export async function storeDiscoveryError(
  db: TenantDb,
  server: Pick<RegisteredServer, 'id' | 'revision'>,
  status: McpServerStatus,
  problem: string,
): Promise<void> {
  await db.raw({
    text: `
      update mcp_servers set status = $4, discovery_error = $5, protocol = null, protocol_found_at = null
      where project_id = $1 and id = $2 and revision = $3`,
    values: [server.id, server.revision, status, problem],
  });
}

/** How the server was spoken to, for the next connection; null: it is to be found out again. */
export async function storeProtocol(db: TenantDb, serverId: string, protocol: McpProtocol | null): Promise<void> {
  await db.raw({
    text: `
      update mcp_servers set protocol = $3, protocol_found_at = case when $3::jsonb is null then null else now() end
      where project_id = $1 and id = $2`,
    values: [serverId, protocol === null ? null : json(protocol)],
  });
}

export async function storeCallError(db: TenantDb, serverId: string, problem: string): Promise<void> {
  await db.raw({
    text: `update mcp_servers set last_call_error = $3, last_call_error_at = now() where project_id = $1 and id = $2`,
    values: [serverId, problem],
  });
}

/** SQL of lists that nobody needs any more: replaced an hour ago, or of a server that is gone, and of no open run. */
export const UNUSED_LISTS_SQL = `
  select l.project_id, l.server_id, l.hash from mcp_tool_lists l
  where (l.replaced_at < now() - interval '${REPLACED_KEPT}')
    and not exists (
      select from runs r
      where r.project_id = l.project_id and r.status in ('in_progress', 'paused') and r.config ? 'mcp'
        and r.config -> 'mcp' -> 'servers' @> jsonb_build_array(jsonb_build_object('id', l.server_id, 'hash', l.hash)))`;
