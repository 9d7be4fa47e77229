/** Somebody has installed the app in a workspace: Slack's code is exchanged for the bot's token there, which is kept. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase, type TenantTransaction } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { objectAt, textAt } from '../provider/read-json.ts';
import { baseUrlOf } from './access.ts';
import { bindOwner, findOwner } from './factory/owner.ts';
import { findMeantDeployment, type MeantDeployment, redirectUrlOf } from './install-link.ts';
import { type Install, storeInstall } from './installs.ts';
import { openSlackAccount } from './open-account.ts';
import { isTeamId, isUserId } from './place.ts';
import { reconnectTeam } from './teams.ts';
import { createSlackApi, type SlackApi, SlackProblem } from './web-api.ts';

/** The client gives up earlier, and says what is known then. */
const DEADLINE_MS = 60_000;

export interface InstallDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly publicUrl: string;
}

export interface InstallCallback {
  readonly projectId: string;
  readonly code: string | undefined;
  readonly state: string | undefined;
  /** What Slack says in place of a code. */
  readonly error: string | undefined;
}

/**
 * Answers where the browser goes: to the app, in the workspace; undefined where Slack does not tell its id. Throws `invalid_state`, `slack_oauth_unconfigured` where the app
 * has been deleted since, and `slack_api_error`.
 */
export async function completeSlackInstall(
  deps: InstallDependencies,
  callback: InstallCallback,
): Promise<string | undefined> {
  const db = new TenantDatabase(deps.db, callback.projectId);
  const meant = callback.state === undefined ? undefined : await findMeantDeployment(db, callback.state);
  if (meant === undefined) throw new ApiError('invalid_state', { param: 'state' });
  const account = await openSlackAccount(deps, callback.projectId, meant.id);
  if (account === undefined) throw new ApiError('slack_oauth_unconfigured');
  const api = createSlackApi(deps.outbound);
  const installed = await exchange(api, account, deps.publicUrl, callback);
  const owner = await findOwner(api, account, meant, installed);
  await db.transaction(async (tx) => {
    if (owner !== undefined) await bindOwner(tx, meant.id, owner);
    await storeInstall(deps.vault, tx, account, installed);
    await reconnectTeam(tx, account, installed.teamId);
    await appendInstalled(tx, meant, installed);
  });
  if (installed.appId === undefined) return undefined;
  return `${baseUrlOf(account)}/app_redirect?app=${encodeURIComponent(installed.appId)}&team=${installed.teamId}`;
}

interface Installed extends Install {
  readonly appId: string | undefined;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly userScopes: readonly string[];
}

async function exchange(
  api: SlackApi,
  account: OpenAccount,
  publicUrl: string,
  { projectId, code, error }: InstallCallback,
): Promise<Installed> {
  if (code === undefined) {
    const message = `The app was not installed: Slack says ${JSON.stringify((error ?? 'nothing').slice(0, 100))}.`;
    throw new ApiError('slack_api_error', { message });
  }
  const args = {
    client_id: settingOf(account.settings, 'client_id') || account.accountId,
    client_secret: account.secrets.client_secret ?? '',
    code,
    redirect_uri: redirectUrlOf(publicUrl, projectId),
  };
  try {
    const signal = abortAfter(DEADLINE_MS);
    return readInstalled(await api.call({ baseUrl: baseUrlOf(account) }, 'oauth.v2.access', args, signal));
  } catch (problem) {
    if (!(problem instanceof SlackProblem)) throw problem;
    const message = `The app was not installed: ${problem.message} Open the installation link again.`;
    throw new ApiError('slack_api_error', { message });
  }
}

/** Throws `slack_api_error`. */
function readInstalled(answer: JsonObject): Installed {
  const teamId = textAt(objectAt(answer, 'team'), 'id');
  const user = objectAt(answer, 'authed_user');
  const { bot_user_id: botUserId, access_token: botToken } = answer;
  if (answer.is_enterprise_install === true) {
    throw refuse('It was installed for a whole organization. Install it in one workspace.');
  }
  if (answer.expires_in !== undefined)
    throw refuse('Its tokens expire. Turn token rotation off in the settings of the app.');
  if (!isTeamId(teamId) || !isUserId(botUserId) || !isUserId(user.id) || typeof botToken !== 'string') {
    throw refuse('Slack tells no bot of it. Install it with its bot scopes.');
  }
  return {
    ...{ teamId, botUserId, botToken, userId: user.id, appId: textAt(answer, 'app_id') },
    scopes: readScopes(answer),
    userScopes: readScopes(user),
  };
}

function readScopes(of: JsonObject): readonly string[] {
  return (textAt(of, 'scope') ?? '').split(',').filter((scope) => scope !== '');
}

function refuse(why: string): ApiError {
  return new ApiError('slack_api_error', { message: `The app cannot be used as it was installed. ${why}` });
}

async function appendInstalled(
  tx: TenantTransaction,
  { id, smith_id }: MeantDeployment,
  installed: Installed,
): Promise<void> {
  await appendEvent(tx, {
    type: 'slack.install',
    smithId: smith_id,
    actor: smith_id === null ? null : { kind: 'smith', id: smith_id, token_id: '', email: '' },
    data: {
      channel_id: id,
      team_id: installed.teamId,
      slack_user_id: installed.userId,
      scopes: installed.scopes,
      user_scopes: installed.userScopes,
    },
  });
}
