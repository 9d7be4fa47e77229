/**
 * Rows of apps that were made at Slack, each from before it is made until it is gone there: so none stays behind of which nobody
 * knows.
 *
 *   (none) ─reserve─▶ making ─keep, with its deployment─▶ kept
 *                       │                                  │ the deployment is deleted
 *                       └─ refused, or nobody kept it ─▶ unwanted ─ Slack has deleted it ─▶ (none)
 */
import type { Executor } from '../../../../kernel/db/database.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';

/** Longer than an app and its deployment take. */
const MAKING_MINUTES = 10;
/** Until Slack is asked again to delete one; later, as long as it has been in vain. */
const AGAIN_MINUTES = 10;

/** Apps that count: those that are to go are as good as gone. */
export async function countApps(db: TenantDb): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: `select count(*)::int as count from slack_apps where project_id = $1 and state <> 'unwanted'`,
  });
  return rows[0]?.count ?? 0;
}

export async function reserveApp(db: TenantDb, deploymentId: string): Promise<void> {
  await db.raw({
    text: `
      insert into slack_apps (project_id, deployment_id, state, next_attempt_at)
      values ($1, $2, 'making', now() + interval '${MAKING_MINUTES} minutes')`,
    values: [deploymentId],
  });
}

export async function noteAppId(db: TenantDb, deploymentId: string, appId: string): Promise<void> {
  await db.raw({
    text: 'update slack_apps set app_id = $3 where project_id = $1 and deployment_id = $2',
    values: [deploymentId, appId],
  });
}

/** False: it took so long that the app was given up. */
export async function keepApp(db: TenantDb, deploymentId: string): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      update slack_apps set state = 'kept', next_attempt_at = null, state_at = now()
      where project_id = $1 and deployment_id = $2 and state = 'making'`,
    values: [deploymentId],
  });
  return rowCount > 0;
}

/** The app's id; undefined where the deployment has none of its own. */
export async function giveUpApp(db: TenantDb, deploymentId: string): Promise<string | undefined> {
  const { rows } = await db.raw<{ app_id: string | null }>({
    text: `
      update slack_apps set state = 'unwanted', next_attempt_at = now(), state_at = now()
      where project_id = $1 and deployment_id = $2 and state <> 'unwanted'
      returning app_id`,
    values: [deploymentId],
  });
  return rows[0]?.app_id ?? undefined;
}

/** Of a deployment that is there. */
export async function findKeptApp(db: TenantDb, deploymentId: string): Promise<string | undefined> {
  const { rows } = await db.raw<{ app_id: string }>({
    text: `select app_id from slack_apps where project_id = $1 and deployment_id = $2 and state = 'kept'`,
    values: [deploymentId],
  });
  return rows[0]?.app_id;
}

export async function removeApp(db: TenantDb, deploymentId: string): Promise<void> {
  await db.raw({
    text: `delete from slack_apps where project_id = $1 and deployment_id = $2 and state <> 'kept'`,
    values: [deploymentId],
  });
}

/** Those that are to go may be tried again at once: what deletes them was saved anew. */
export async function hastenUnwanted(db: TenantDb): Promise<void> {
  await db.raw({
    text: `update slack_apps set next_attempt_at = now() where project_id = $1 and state = 'unwanted'`,
  });
}

export interface UnwantedApp {
  readonly project_id: string;
  readonly deployment_id: string;
  /** Null: Slack has not said. */
  readonly app_id: string | null;
}

/** Of all projects, each by one replica. One that nobody has kept in time is unwanted from now on. */
export async function takeUnwanted(db: Executor, limit: number): Promise<readonly UnwantedApp[]> {
  const { rows } = await db.query<UnwantedApp>({
    text: `
      with due as materialized (
        select project_id, deployment_id from slack_apps where next_attempt_at <= now()
        order by next_attempt_at limit $1 for update skip locked
      )
      update slack_apps a set
        state_at = case when a.state = 'making' then now() else a.state_at end,
        state = 'unwanted',
        next_attempt_at = now() + least(interval '1 day', greatest(interval '${AGAIN_MINUTES} minutes', now() - a.state_at))
      from due where a.project_id = due.project_id and a.deployment_id = due.deployment_id
      returning a.project_id, a.deployment_id, a.app_id`,
    values: [limit],
  });
  return rows;
}
