import type { RunRow } from '../../../engine/index.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { runOfItem } from '../item-ids.ts';
import type { BroughtList } from '../request-servers.ts';

/** Of those that an input names: the newest, which stand last. */
const MAX_LISTING_RUNS = 8;

/** The run behind a response, unless it is another smith's; undefined too for a run that another surface started. */
export async function findRun(db: TenantDb, runId: string, smithId: string | null): Promise<RunRow | undefined> {
  const { rows } = await db.raw<RunRow>({
    text: `
      select * from runs
      where project_id = $1 and id = $2 and surface = 'response' and ($3::text is null or smith_id = $3)`,
    values: [runId, smithId],
  });
  return rows[0];
}

/** What the tool's calls gave before the frame, in order. */
export async function listOutputsBefore(
  db: TenantDb,
  run: RunRow,
  tool: string,
  seq: number,
): Promise<(JsonObject | null)[]> {
  const { rows } = await db.raw<{ output: JsonObject | null }>({
    text: `
      select data -> 'output' as output from run_events
      where project_id = $1 and run_id = $2 and type = 'tool.completed' and seq <= $4 and data ->> 'tool' = $3
      order by seq`,
    values: [run.id, tool, seq],
  });
  return rows.map(({ output }) => output);
}

/** From now on the run's responses cannot be retrieved. False: they could not before. */
export async function hideRun(db: TenantDb, runId: string): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: 'update runs set hidden_at = now() where project_id = $1 and id = $2 and hidden_at is null',
    values: [runId],
  });
  return rowCount > 0;
}

/** Those of the smith's approvals that have been decided, or have expired. */
export async function listDecided(db: TenantDb, smithId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await db.raw<{ id: string }>({
    text: `
      select id from approvals
      where project_id = $1 and smith_id = $2 and id = any($3::text[]) and status <> 'pending'`,
    values: [smithId, ids],
  });
  return new Set(rows.map(({ id }) => id));
}

/** Runs of the smith that listed the tools of MCP servers for it: the one that the turn goes on from, and those whose lists came back. */
export async function findListingRuns(
  db: TenantDb,
  smithId: string,
  { continues, lists }: { readonly continues: RunRow | undefined; readonly lists: readonly BroughtList[] },
): Promise<RunRow[]> {
  const ids = new Set(lists.flatMap(({ id }) => runOfItem(id) ?? []));
  ids.delete(continues?.id ?? '');
  const found = await Promise.all([...ids].slice(-MAX_LISTING_RUNS).map((id) => findRun(db, id, smithId)));
  return [...found, continues].filter((run) => run !== undefined).reverse();
}
