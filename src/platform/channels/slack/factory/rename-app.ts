/** Gives an app of a smith's own another name at Slack. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { tenantDb } from '../../../store/tenant-db.ts';
import { findAccount } from '../../accounts/account-store.ts';
import { settingOf } from '../../accounts/open-account.ts';
import { SlackProblem } from '../web-api.ts';
import { findKeptApp } from './app-rows.ts';
import { callManifestApi } from './config-token.ts';
import { composeManifest, readManifestTemplate } from './manifest.ts';
import type { MintDependencies, WantedApp } from './mint-app.ts';

/** Nothing for a deployment without an app of its own. Throws `slack_factory_unconfigured` and `slack_api_error`. */
export async function renameSlackApp(
  deps: MintDependencies,
  projectId: string,
  deploymentId: string,
  { name, ownerEmail }: WantedApp,
): Promise<void> {
  const db = tenantDb(deps.db, projectId);
  const appId = await findKeptApp(db, deploymentId);
  if (appId === undefined) return;
  const settings = (await findAccount(db, 'slack'))?.settings ?? {};
  // Slack takes the whole manifest in place of the one that is there.
  const template = readManifestTemplate(settingOf(settings, 'manifest_template') || undefined);
  const told = { deploymentId, name, hasOwner: ownerEmail !== undefined };
  const { manifest } = composeManifest(template, { publicUrl: deps.publicUrl, projectId }, told);
  try {
    const args = { app_id: appId, manifest: JSON.stringify(manifest) };
    await callManifestApi(deps, projectId, 'apps.manifest.update', args);
  } catch (problem) {
    if (!(problem instanceof SlackProblem)) throw problem;
    const message = `The app was not renamed: ${problem.message} Try again.`;
    throw new ApiError('slack_api_error', { message, cause: problem });
  }
}
