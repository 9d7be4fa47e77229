/**
 * Calls that wait for an account of the smith's user. Whoever stores a connection says so in the transaction that does
 * (`noteConnection`), and a call that finds none is noted under the same lock: none is connected between the look and the note.
 */
import type { Database, Executor, Transaction } from '../../../kernel/db/database.ts';
import type { ConnectionNeed } from '../../tools/tool.ts';
import type { TurnKey } from '../turn.ts';

export interface SmithConnection {
  readonly projectId: string;
  readonly smithId: string;
  /** Of the connection: a provider, or `mcp:<server>`. */
  readonly key: string;
}

/** False: an account was connected since the call looked, so that there is nothing to wait for. */
export async function awaitConnection(
  db: Database,
  { projectId, smithId, runId }: TurnKey,
  callId: string,
  need: ConnectionNeed & { readonly authorizeUrl: string },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockConnection(tx, { projectId, smithId, key: need.key });
    if (await need.hasChanged(tx)) return false;
    await tx.query({
      text: `
        insert into connection_waits
          (project_id, run_id, call_id, smith_id, connection_key, provider, mcp_server, authorize_url)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (project_id, run_id, call_id) do update set connection_key = excluded.connection_key,
          provider = excluded.provider, mcp_server = excluded.mcp_server, authorize_url = excluded.authorize_url,
          connected_at = null`,
      values: [projectId, runId, callId, smithId, need.key, need.provider, need.mcpServer, need.authorizeUrl],
    });
    return true;
  });
}

/** Lets the calls go on that wait for this connection: call it in the transaction that stores the account. */
export async function noteConnection(tx: Transaction, connection: SmithConnection): Promise<void> {
  await lockConnection(tx, connection);
  const { projectId, smithId, key } = connection;
  await tx.query({
    text: `
      update connection_waits set connected_at = now()
      where project_id = $1 and smith_id = $2 and connection_key = $3 and connected_at is null`,
    values: [projectId, smithId, key],
  });
}

async function lockConnection(tx: Executor, { projectId, smithId, key }: SmithConnection): Promise<void> {
  await tx.query({
    text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
    values: [`connection ${projectId} ${smithId} ${key}`],
  });
}

/** A paused run with a call whose account has been connected. */
export interface ConnectedRun {
  readonly project_id: string;
  readonly run_id: string;
  /** ISO-8601, to the microsecond: of the first of its calls. */
  readonly connected_at: string;
}

/** Runs that are read at once. */
const PAGE = 64;

/**
 * The next beyond `after`. Not those whose smith is busy, or which are under way besides: whatever they wait for, others do
 * not wait behind them.
 */
export async function findConnectedRuns(db: Database, after: ConnectedRun | undefined): Promise<ConnectedRun[]> {
  const { rows } = await db.query<ConnectedRun>({
    text: `
      select w.project_id, w.run_id,
        to_char(w.connected_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as connected_at
      from connection_waits w join runs r on r.project_id = w.project_id and r.id = w.run_id
      where w.connected_at is not null and r.status = 'paused'
        and ($1::timestamptz is null or (w.connected_at, w.run_id) > ($1, $2))
        and not exists (
          select from runs busy
          where busy.project_id = r.project_id and busy.smith_id = r.smith_id and busy.status = 'in_progress'
        )
      order by w.connected_at, w.run_id limit ${PAGE}`,
    values: [after?.connected_at ?? null, after?.run_id ?? null],
  });
  return rows;
}

/** The calls of the run whose accounts have been connected may be made again. Returns whether there are any. */
export async function readyConnectedCalls(tx: Transaction, projectId: string, runId: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    text: `
      with connected as (
        delete from connection_waits
        where project_id = $1 and run_id = $2 and connected_at is not null returning call_id
      )
      update run_steps s set status = 'ready' from connected
      where s.project_id = $1 and s.run_id = $2 and s.call_id = connected.call_id and s.status = 'connection'`,
    values: [projectId, runId],
  });
  return rowCount > 0;
}

/** The call waits no more: it is answered. */
export async function forgetConnectionWait(
  db: Executor,
  { projectId, runId }: { readonly projectId: string; readonly runId: string },
  callId: string,
): Promise<void> {
  await db.query({
    text: 'delete from connection_waits where project_id = $1 and run_id = $2 and call_id = $3',
    values: [projectId, runId, callId],
  });
}
