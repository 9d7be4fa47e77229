/** A deployment of a messaging channel: for one person, bound now or by a start token, or for all who write to the account. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { type Channel, kinds } from '../../channels/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { unavailable } from './check-deployment.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { makeConnection } from './make-connection.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { holdAccount } from './store.ts';

/** Throws `not_found`, `agent_unpublished`, the kind's refusal, `invalid_request`, `address_in_use` and `catch_all_exists`. */
export async function connectChannel(
  deps: DeploymentDependencies,
  { tx, caller, body }: ProjectChange<{ body: DeploymentIn }>,
): Promise<CreatedDeployment> {
  const { kind, target } = body;
  const address = body.address == null ? null : (kinds[kind].address?.normalize?.(body.address) ?? body.address);
  await holdTarget(tx, caller, target);
  const { channel, account } = await requireAccount(tx, deps.channels, body);
  refuseExtras(body);
  const connection = {
    id: mintId('dep'),
    account_id: '',
    address,
    provider: null,
    provider_metadata: body.provider_metadata ?? {},
    sealed_secrets: null,
    secret_keys: [],
  };
  const made = await makeConnection(deps, tx, body, connection, (token) => channel.startLinks(account, token));
  return { ...made, ...(await channel.invite?.(tx, connection, account)) };
}

/** Throws the kind's refusal. */
export async function requireAccount(
  tx: TenantTransaction,
  channels: ReadonlyMap<string, Channel>,
  body: DeploymentIn,
): Promise<{ channel: Channel; account: NonNullable<Awaited<ReturnType<typeof holdAccount>>> }> {
  const channel = channels.get(body.kind);
  const account = channel === undefined ? undefined : await holdAccount(tx, channel.kind);
  if (channel === undefined || account === undefined) throw unavailable(body);
  return { channel, account };
}

/** Throws `invalid_request`. */
export function refuseExtras({ provider, secrets }: DeploymentIn): void {
  const param = provider != null ? 'provider' : Object.keys(secrets ?? {}).length > 0 ? 'secrets' : undefined;
  if (param === undefined) return;
  const message = `This kind is reached through the project’s account, which has them. Leave \`${param}\` out.`;
  throw new ApiError('invalid_request', { param, message });
}
