/**
 * Where somebody installs the app, with what proves here that a deployment of the project was meant. It holds as long as the
 * deployment is there: an administrator's consent may take weeks, and who has taken the app away may bring it back.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { TenantDb } from '../../store/tenant-db.ts';

/** What the bot of a project's app may do, and what it is told. */
export const BOT_SCOPES: readonly string[] = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'im:history',
  'metadata.message:read',
  'mpim:history',
];

export interface InstallLink {
  readonly install_url: string;
  readonly state: string;
}

export function redirectUrlOf(publicUrl: string, projectId: string): string {
  return `${publicUrl}/v1/slack/oauth/${projectId}`;
}

export async function makeInstallLink(
  tx: TenantDb,
  deploymentId: string,
  app: { readonly clientId: string; readonly baseUrl: string; readonly redirectUrl: string },
  scopes: { readonly bot: readonly string[]; readonly user: readonly string[] } = { bot: BOT_SCOPES, user: [] },
): Promise<InstallLink> {
  const state = randomBytes(32).toString('base64url');
  await tx
    .insertInto('slack_install_states')
    .values({ state_hash: hashState(state), deployment_id: deploymentId })
    .execute();
  const url = new URL(`${app.baseUrl}/oauth/v2/authorize`);
  url.searchParams.set('client_id', app.clientId);
  url.searchParams.set('scope', scopes.bot.join(','));
  if (scopes.user.length > 0) url.searchParams.set('user_scope', scopes.user.join(','));
  url.searchParams.set('redirect_uri', app.redirectUrl);
  url.searchParams.set('state', state);
  return { install_url: url.href, state };
}

export interface MeantDeployment {
  readonly id: string;
  readonly smith_id: string | null;
  readonly address: string | null;
}

/** Undefined for a state of nobody's, or of another project. */
export async function findMeantDeployment(db: TenantDb, state: string): Promise<MeantDeployment | undefined> {
  const { rows } = await db.raw<MeantDeployment>({
    text: `
      select d.id, d.smith_id, d.address
      from slack_install_states s
      join deployments d on d.project_id = s.project_id and d.id = s.deployment_id
      join projects p on p.id = d.project_id and p.archived_at is null
      where s.project_id = $1 and s.state_hash = $2`,
    values: [hashState(state)],
  });
  return rows[0];
}

function hashState(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
