/** A deployment of a messaging channel: for one person, bound now or by a start token, or for all who write to the account. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { type Channel, hashStartToken, kinds, mintStartToken, START_TOKEN_HOURS } from '../../channels/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { unavailable } from './check-deployment.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { renderDeployment } from './render-deployment.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { holdAccount, insertConnection } from './store.ts';

/** Throws `not_found`, `agent_unpublished`, the kind's refusal, `invalid_request`, `address_in_use` and `catch_all_exists`. */
export async function connectChannel(
  { publicUrl, channels, clock }: DeploymentDependencies,
  { tx, caller, body }: ProjectChange<{ body: DeploymentIn }>,
): Promise<CreatedDeployment> {
  const { kind, target, setup } = body;
  const address = body.address == null ? null : (kinds[kind].address?.normalize?.(body.address) ?? body.address);
  await holdTarget(tx, caller, target);
  const { channel, account } = await requireAccount(tx, channels, body);
  refuseExtras(body);
  const token = setup == null ? undefined : mintStartToken();
  const expires = new Date(clock.now().getTime() + START_TOKEN_HOURS * 3_600_000);
  const row = await insertConnection(tx, {
    id: mintId('dep'),
    kind,
    smith_id: target.type === 'smith' ? target.id : null,
    agent_id: target.type === 'agent' ? target.id : null,
    address,
    provider: null,
    provider_metadata: body.provider_metadata ?? {},
    sealed_secrets: null,
    secret_keys: [],
    status: token === undefined ? 'active' : 'pending',
    start_token_hash: token === undefined ? null : hashStartToken(token),
    start_token_expires_at: token === undefined ? null : expires,
  });
  if (row === undefined) {
    if (address === null) throw new ApiError('catch_all_exists', { param: 'target' });
    throw new ApiError('address_in_use', { param: 'address' });
  }
  const deployment = renderDeployment(publicUrl, row);
  if (token === undefined) return deployment;
  const { deep_link, prefilled_message } = channel.startLinks(account, token);
  return {
    ...deployment,
    start_token: token,
    ...(deep_link === undefined ? {} : { deep_link }),
    ...(prefilled_message === undefined ? {} : { prefilled_message }),
  };
}

async function requireAccount(
  tx: TenantTransaction,
  channels: ReadonlyMap<string, Channel>,
  body: DeploymentIn,
): Promise<{ channel: Channel; account: NonNullable<Awaited<ReturnType<typeof holdAccount>>> }> {
  const channel = channels.get(body.kind);
  const account = channel === undefined ? undefined : await holdAccount(tx, channel.kind);
  // Whoever needs more for `setup` than an account is not there yet.
  const lacksSetup = body.setup != null && kinds[body.kind].setupRefusal !== undefined;
  if (channel === undefined || account === undefined || lacksSetup) throw unavailable(body);
  return { channel, account };
}

/** Throws `invalid_request`. */
function refuseExtras({ provider, secrets }: DeploymentIn): void {
  const param = provider != null ? 'provider' : Object.keys(secrets ?? {}).length > 0 ? 'secrets' : undefined;
  if (param === undefined) return;
  const message = `This kind is reached through the project’s account, which has them. Leave \`${param}\` out.`;
  throw new ApiError('invalid_request', { param, message });
}
