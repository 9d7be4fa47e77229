/** Rows of visitors, their threads and runs, and the days of pages. */
import type { TenantDb } from '../store/tenant-db.ts';

/** The smith that the visitor speaks to, and whether the thread is one of theirs; undefined for one who is new. */
export async function findVisitor(
  db: TenantDb,
  pageId: string,
  visitorId: string,
  threadId: string | null,
): Promise<{ readonly smith_id: string; readonly owns_thread: boolean } | undefined> {
  const { rows } = await db.raw<{ smith_id: string; owns_thread: boolean }>({
    text: `
      select v.smith_id, exists (
        select from hosted_threads t
        where t.project_id = $1 and t.deployment_id = $2 and t.thread_id = $4
          and t.visitor_id = v.visitor_id and t.smith_id = v.smith_id
      ) as owns_thread
      from hosted_visitors v
      join smiths s on s.project_id = v.project_id and s.id = v.smith_id and s.archived_at is null
      where v.project_id = $1 and v.deployment_id = $2 and v.visitor_id = $3`,
    values: [pageId, visitorId, threadId],
  });
  return rows[0];
}

/** Nobody deletes or disconnects the page until the transaction ends. False where somebody has. */
export async function holdPage(db: TenantDb, pageId: string): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `select from deployments where project_id = $1 and id = $2 and status = 'active' for key share`,
    values: [pageId],
  });
  return rowCount > 0;
}

/** Whether the page has had all the new visitors that it takes in a day. */
export async function isDayFull(db: TenantDb, pageId: string, limit: number): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      select from hosted_page_days
      where project_id = $1 and deployment_id = $2 and day = ${TODAY} and new_visitors >= $3`,
    values: [pageId, limit],
  });
  return rowCount > 0;
}

/** Counts one more; false where the day is full. Whoever comes at the same time waits for this transaction. */
export async function countNewVisitor(db: TenantDb, pageId: string, limit: number): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      insert into hosted_page_days as d (project_id, deployment_id, day, new_visitors) values ($1, $2, ${TODAY}, 1)
      on conflict (project_id, deployment_id) do update
        set day = excluded.day, new_visitors = case when d.day = excluded.day then d.new_visitors + 1 else 1 end
        where d.day <> excluded.day or d.new_visitors < $3
      returning new_visitors`,
    values: [pageId, limit],
  });
  return rowCount > 0;
}

const TODAY = `(now() at time zone 'utc')::date`;

/** Whether the visitor is new, or speaks to another smith than before. */
export async function saveVisitor(db: TenantDb, pageId: string, visitorId: string, smithId: string): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      insert into hosted_visitors as v (project_id, deployment_id, visitor_id, smith_id) values ($1, $2, $3, $4)
      on conflict (project_id, deployment_id, visitor_id) do update set smith_id = excluded.smith_id
        where v.smith_id <> excluded.smith_id
      returning visitor_id`,
    values: [pageId, visitorId, smithId],
  });
  return rowCount > 0;
}

/** Makes the thread the visitor's. Again and again without harm; nothing where the page has been deleted since. */
export async function saveThread(
  db: TenantDb,
  thread: {
    readonly pageId: string;
    readonly visitorId: string;
    readonly smithId: string;
    readonly threadId: string;
  },
): Promise<void> {
  await db.raw({
    text: `
      insert into hosted_threads (project_id, deployment_id, thread_id, visitor_id, smith_id)
      select v.project_id, v.deployment_id, $4, v.visitor_id, $5 from hosted_visitors v
      where v.project_id = $1 and v.deployment_id = $2 and v.visitor_id = $3
      for key share of v
      on conflict (project_id, deployment_id, thread_id) do nothing`,
    values: [thread.pageId, thread.visitorId, thread.threadId, thread.smithId],
  });
}

/** The smith of a run that this visitor's message began; undefined where it is not theirs. */
export async function findSmithOfRun(
  db: TenantDb,
  run: { readonly pageId: string; readonly visitorId: string; readonly runId: string },
): Promise<string | undefined> {
  const { rows } = await db.raw<{ smith_id: string }>({
    text: `
      select smith_id from runs
      where project_id = $1 and id = $2 and channel = 'web'
        and metadata ->> 'deployment_id' = $3 and metadata ->> 'visitor_id' = $4`,
    values: [run.runId, run.pageId, run.visitorId],
  });
  return rows[0]?.smith_id;
}
