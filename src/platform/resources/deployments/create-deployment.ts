import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { hashPassword, type MintedSlackApp, readPassword, readWebPage } from '../../channels/index.ts';
import type { JsonObject } from '../../tables.ts';
import { checkBinding, requireOwnTarget, requireProof } from './check-deployment.ts';
import { connectChannel } from './connect-channel.ts';
import { connectMailbox } from './connect-mailbox.ts';
import { connectNumber, isOfNumber } from './connect-number.ts';
import { connectSlackApp } from './connect-slack-app.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { renderDeployment } from './render-deployment.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { sealSecrets } from './seal-secrets.ts';
import { insertDeployment } from './store.ts';

/** What is right about every kind is told first, then whether the target is there, then whether its kind can be made. */
export function createDeployment(deps: DeploymentDependencies) {
  const { publicUrl, vault } = deps;
  return async (
    request: ProjectChange<{ body: DeploymentIn }> & { readonly prepared: MintedSlackApp | undefined },
  ): Promise<CreatedDeployment> => {
    const { tx, caller, body } = request;
    const { kind, target } = body;
    requireOwnTarget(caller, target);
    requireProof(caller, body);
    checkBinding(body);
    if (isOfNumber(body)) return connectNumber(deps, { ...request, body });
    if (request.prepared !== undefined) return connectSlackApp(deps, request, request.prepared);
    if (kind === 'email') return connectMailbox(deps, request);
    if (kind !== 'web' && kind !== 'mcp') return connectChannel(deps, request);
    refuseProvider(body);
    const { metadata, secrets } = kind === 'web' ? await readPage(body) : readMcpServer(body);
    await holdTarget(tx, caller, target);
    const id = mintId('dep');
    const row = await insertDeployment(tx, {
      id,
      kind,
      smith_id: target.type === 'smith' ? target.id : null,
      agent_id: target.type === 'agent' ? target.id : null,
      address: null,
      provider: null,
      provider_metadata: metadata,
      ...sealSecrets(vault, tx.projectId, id, secrets),
      status: 'active',
    });
    return renderDeployment(publicUrl, row);
  };
}

interface OwnSettings {
  readonly metadata: JsonObject;
  readonly secrets: JsonObject;
}

async function readPage({ provider_metadata: metadata, secrets }: DeploymentIn): Promise<OwnSettings> {
  const page = readWebPage(metadata ?? {});
  const password = readPassword(secrets ?? {});
  // Before anything is held: it takes time.
  return { metadata: { ...page }, secrets: password === undefined ? {} : { password: await hashPassword(password) } };
}

/** It is what its smith or agent is. Throws `invalid_request`. */
function readMcpServer({ provider_metadata: metadata = {}, secrets = {} }: DeploymentIn): OwnSettings {
  for (const [param, given] of Object.entries({ provider_metadata: metadata, secrets })) {
    const [name] = Object.keys(given);
    if (name === undefined) continue;
    const message = `An MCP server has no settings of its own. Leave \`${param}\` out.`;
    throw new ApiError('invalid_request', { param: `${param}.${name}`, message });
  }
  return { metadata: {}, secrets: {} };
}

/** Throws `invalid_request`. */
function refuseProvider({ provider }: DeploymentIn): void {
  if (provider == null) return;
  throw new ApiError('invalid_request', {
    param: 'provider',
    message: 'This kind is served by this server and has no provider. Leave `provider` out.',
  });
}
