/** A deployment with a Slack app of the smith's own, which is made at Slack before the transaction. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Preparation } from '../../../kernel/http/operation.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import {
  keepSlackApp,
  type MintedSlackApp,
  makeSlackInstallLink,
  mintSlackApp,
  readSlackAppName,
  readSlackOwnerEmail,
  removeSlackAppLater,
  slackRedirectUrl,
} from '../../channels/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { checkBinding, requireOwnTarget } from './check-deployment.ts';
import { refuseExtras } from './connect-channel.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { renderDeployment } from './render-deployment.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { sealSecrets } from './seal-secrets.ts';
import { insertConnection } from './store.ts';

export interface SlackAppDependencies extends DeploymentDependencies {
  readonly db: Database;
}

type Request = { readonly caller: ProjectCaller; readonly body: DeploymentIn };

/** Undefined for every other deployment. Throws what `mintSlackApp` does, and what is wrong with the request before. */
export function prepareSlackApp(deps: SlackAppDependencies): Preparation<Request, MintedSlackApp | undefined> {
  return {
    async make({ caller, body }) {
      if (body.kind !== 'slack' || body.setup == null) return undefined;
      requireOwnTarget(caller, body.target);
      checkBinding(body);
      const wanted = readSetup(body.setup);
      const db = new TenantDatabase(deps.db, caller.projectId);
      await db.transaction((tx) => holdTarget(tx, caller, body.target));
      refuseExtras(body);
      refuseMetadata(body);
      return mintSlackApp(deps, caller.projectId, wanted);
    },
    async discard({ caller }, app) {
      if (app === undefined) return;
      const db = new TenantDatabase(deps.db, caller.projectId);
      await db.transaction((tx) => removeSlackAppLater(deps.jobs, tx, app.deploymentId));
    },
  };
}

/** Throws `not_found`, and `slack_api_error` where the app took too long. */
export async function connectSlackApp(
  { publicUrl, vault }: DeploymentDependencies,
  { tx, caller, body }: ProjectChange<{ readonly body: DeploymentIn }>,
  app: MintedSlackApp,
): Promise<CreatedDeployment> {
  const { deploymentId: id, appId, clientId, name, ownerEmail, baseUrl, secrets, scopes } = app;
  const { kind, target } = body;
  await holdTarget(tx, caller, target);
  const row = await insertConnection(tx, {
    ...{ id, kind, account_id: appId, address: null, provider: null },
    ...{ smith_id: target.id, agent_id: null },
    provider_metadata: {
      ...{ display_name: name, slack_app_id: appId, client_id: clientId, api_base_url: baseUrl },
      ...(ownerEmail !== undefined && { owner_email: ownerEmail }),
    },
    ...sealSecrets(vault, tx.projectId, id, secrets),
    ...{ status: 'pending', start_token_hash: null, start_token_expires_at: null },
  });
  if (row === undefined || !(await keepSlackApp(tx, id))) {
    throw new ApiError('slack_api_error', {
      message: 'Slack took too long to make the app: it is deleted. Try again.',
    });
  }
  const at = { clientId, baseUrl, redirectUrl: slackRedirectUrl(publicUrl, tx.projectId) };
  const link = await makeSlackInstallLink(tx, id, at, scopes);
  await appendEvent(tx, {
    type: 'slack.app_provisioned',
    smithId: target.id,
    actor: actorOf(caller),
    data: { channel_id: id, slack_app_id: appId, display_name: name },
  });
  return { ...renderDeployment(publicUrl, row), slack_app_id: appId, ...link };
}

function readSetup({ display_name, owner_email }: Readonly<Record<string, unknown>>) {
  const refusal = { code: 'invalid_setup', at: 'setup.' } as const;
  return {
    name: readSlackAppName(display_name, refusal),
    ownerEmail: owner_email === undefined ? undefined : readSlackOwnerEmail(owner_email, refusal),
  };
}

function refuseMetadata({ provider_metadata = {} }: DeploymentIn): void {
  const [name] = Object.keys(provider_metadata);
  if (name === undefined) return;
  const message = 'An app of the smith’s own is told what it needs in `setup`. Leave `provider_metadata` out.';
  throw new ApiError('invalid_request', { param: `provider_metadata.${name}`, message });
}
