/** Makes an app of a smith's own at Slack, outside of any transaction. Its row is there before, so that it is not forgotten. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import { TenantDatabase } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { holdAccount } from '../../accounts/account-store.ts';
import { openAccount, settingOf } from '../../accounts/open-account.ts';
import { objectAt, textAt } from '../../provider/read-json.ts';
import { baseUrlOf } from '../access.ts';
import { SlackProblem } from '../web-api.ts';
import { countApps, giveUpApp, noteAppId, removeApp, reserveApp } from './app-rows.ts';
import { callManifestApi, type FactoryDependencies } from './config-token.ts';
import { keepPatiently } from './keep-patiently.ts';
import { type AppScopes, composeManifest, readManifestTemplate } from './manifest.ts';

export interface MintDependencies extends FactoryDependencies {
  readonly publicUrl: string;
}

export interface WantedApp {
  readonly name: string;
  readonly ownerEmail: string | undefined;
}

export interface MintedApp extends WantedApp {
  /** That the deployment is to have. */
  readonly deploymentId: string;
  readonly appId: string;
  readonly clientId: string;
  readonly secrets: { readonly client_secret: string; readonly signing_secret: string };
  readonly scopes: AppScopes;
  readonly baseUrl: string;
}

/** Throws `slack_factory_unconfigured`, `slack_app_cap_reached` and `slack_api_error`. */
export async function mintSlackApp(deps: MintDependencies, projectId: string, wanted: WantedApp): Promise<MintedApp> {
  const db = new TenantDatabase(deps.db, projectId);
  const deploymentId = mintId('dep');
  const { template, baseUrl } = await reserve(deps, db, deploymentId);
  const told = { deploymentId, name: wanted.name, hasOwner: wanted.ownerEmail !== undefined };
  const { manifest, scopes } = composeManifest(template, { publicUrl: deps.publicUrl, projectId }, told);
  const { appId, credentials } = await create(deps, db, deploymentId, manifest);
  if (credentials === undefined) {
    await giveUpApp(db, deploymentId);
    const message = 'Slack tells nothing by which the app that it made could be used: it is deleted. Try again.';
    throw new ApiError('slack_api_error', { message });
  }
  return { ...wanted, deploymentId, appId, scopes, baseUrl, ...credentials };
}

type Credentials = Pick<MintedApp, 'clientId' | 'secrets'>;

async function create(
  deps: MintDependencies,
  db: TenantDatabase,
  deploymentId: string,
  manifest: JsonObject,
): Promise<{ readonly appId: string; readonly credentials: Credentials | undefined }> {
  try {
    const args = { manifest: JSON.stringify(manifest) };
    const made = await callManifestApi(deps, db.projectId, 'apps.manifest.create', args);
    const appId = textAt(made, 'app_id');
    if (appId === undefined) throw new SlackProblem('unknown', 'Slack tells no app.');
    await keepPatiently(() => noteAppId(db, deploymentId, appId));
    return { appId, credentials: readCredentials(made) };
  } catch (error) {
    if (error instanceof SlackProblem || error instanceof ApiError) await removeApp(db, deploymentId);
    throw error instanceof SlackProblem ? refusalOf(error) : error;
  }
}

interface Factory {
  readonly template: JsonObject;
  readonly baseUrl: string;
}

/** Takes the app's place among those that the project may have: the account's row keeps two from taking the last one. */
async function reserve({ vault }: MintDependencies, db: TenantDatabase, deploymentId: string): Promise<Factory> {
  return db.transaction(async (tx) => {
    const row = await holdAccount(tx, 'slack');
    const account = row && openAccount(vault, tx.projectId, row);
    if (account?.secrets.config_token === undefined)
      throw new ApiError('slack_factory_unconfigured', { param: 'kind' });
    const { settings } = account;
    if ((await countApps(tx)) >= Number(settings.app_limit)) throw new ApiError('slack_app_cap_reached');
    await reserveApp(tx, deploymentId);
    const template = readManifestTemplate(settingOf(settings, 'manifest_template') || undefined);
    return { template, baseUrl: baseUrlOf(account) };
  });
}

function readCredentials(made: JsonObject): Credentials | undefined {
  const credentials = objectAt(made, 'credentials');
  const clientId = textAt(credentials, 'client_id');
  const client_secret = textAt(credentials, 'client_secret');
  const signing_secret = textAt(credentials, 'signing_secret');
  if (!clientId || !client_secret || !signing_secret) return undefined;
  return { clientId, secrets: { client_secret, signing_secret } };
}

function refusalOf(problem: SlackProblem): ApiError {
  const { kind, message, retryAfterMs } = problem;
  const isUnknown = kind === 'unknown';
  const next = isUnknown ? 'Whether it made the app is not known: look at api.slack.com/apps.' : 'Nothing was made.';
  return new ApiError('slack_api_error', {
    message: `${message} ${next}`,
    cause: problem,
    ...(kind === 'busy' && { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) }),
  });
}
