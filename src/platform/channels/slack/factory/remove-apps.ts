/** Deletes at Slack the apps that nobody wants. A job rather than a part of the request: Slack may not answer, or for days. */
import type { Executor } from '../../../../kernel/db/database.ts';
import type { Jobs } from '../../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import { type TenantTransaction, tenantDb } from '../../../store/tenant-db.ts';
import { removeInstalls } from '../installs.ts';
import { SlackProblem } from '../web-api.ts';
import { giveUpApp, hastenUnwanted, removeApp, takeUnwanted, type UnwantedApp } from './app-rows.ts';
import { callManifestApi, type FactoryDependencies } from './config-token.ts';

const JOB = 'remove-slack-apps';
const APPS_A_BATCH = 20;
const GONE = new Set(['app_not_found', 'invalid_app_id', 'invalid_app']);

export interface RemovalDependencies extends FactoryDependencies {
  readonly logger: Logger;
}

/** Call before `jobs.start`. */
export function defineAppRemoval(jobs: Jobs, deps: RemovalDependencies): void {
  jobs.define(JOB, ({ signal }) => removeUnwanted(deps, signal), { concurrency: 1 });
  jobs.schedule(JOB, '*/10 * * * *', {});
}

/** The deployment is gone, or was never made. What its app was installed with goes at once. */
export async function removeAppLater(jobs: Jobs, tx: TenantTransaction, deploymentId: string): Promise<void> {
  const appId = await giveUpApp(tx, deploymentId);
  if (appId === undefined) return;
  await removeInstalls(tx, { accountId: appId });
  await tx.enqueue(jobs, JOB, {});
}

/** The factory was saved: those that could not be deleted without it go now. */
export async function retryRemovals(jobs: Jobs, db: Executor, projectId: string): Promise<void> {
  await hastenUnwanted(tenantDb(db, projectId));
  await jobs.enqueue(db, JOB, {});
}

async function removeUnwanted(deps: RemovalDependencies, signal: AbortSignal): Promise<void> {
  for (let taken = APPS_A_BATCH; taken === APPS_A_BATCH && !signal.aborted; ) {
    const apps = await takeUnwanted(deps.db, APPS_A_BATCH);
    for (const app of apps) await remove(deps, app);
    taken = apps.length;
  }
}

/** What fails is tried again, at a later pass. */
async function remove(deps: RemovalDependencies, app: UnwantedApp): Promise<void> {
  const { project_id: projectId, deployment_id: deploymentId, app_id: appId } = app;
  try {
    if (appId !== null) await deleteAtSlack(deps, projectId, appId);
    await removeApp(tenantDb(deps.db, projectId), deploymentId);
  } catch (error) {
    deps.logger.warn({ err: error, projectId, slackApp: appId }, 'a Slack app that nobody uses could not be deleted');
  }
}

async function deleteAtSlack(deps: RemovalDependencies, projectId: string, appId: string): Promise<void> {
  try {
    await callManifestApi(deps, projectId, 'apps.manifest.delete', { app_id: appId });
  } catch (error) {
    if (!(error instanceof SlackProblem) || !GONE.has(error.code)) throw error;
  }
}
