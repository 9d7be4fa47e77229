/** The row of a deployment of a messaging channel, and what somebody needs to be bound to it later. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { type Channel, hashStartToken, mintStartToken, START_TOKEN_HOURS } from '../../channels/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { renderDeployment } from './render-deployment.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { insertConnection, type NewConnection } from './store.ts';

/** What it is reached through, and who is. */
export type Connection = Pick<
  NewConnection,
  'id' | 'account_id' | 'address' | 'provider' | 'provider_metadata' | 'sealed_secrets' | 'secret_keys'
>;

/** `startLinks`: where whoever has a token begins. Throws `address_in_use` and `catch_all_exists`. */
export async function makeConnection(
  { publicUrl, clock }: Pick<DeploymentDependencies, 'publicUrl' | 'clock'>,
  tx: TenantTransaction,
  { kind, target, setup }: DeploymentIn,
  connection: Connection,
  startLinks: (token: string) => ReturnType<Channel['startLinks']>,
): Promise<CreatedDeployment> {
  const token = setup == null ? undefined : mintStartToken();
  const expires = new Date(clock.now().getTime() + START_TOKEN_HOURS * 3_600_000);
  const row = await insertConnection(tx, {
    ...connection,
    kind,
    smith_id: target.type === 'smith' ? target.id : null,
    agent_id: target.type === 'agent' ? target.id : null,
    status: token === undefined ? 'active' : 'pending',
    start_token_hash: token === undefined ? null : hashStartToken(token),
    start_token_expires_at: token === undefined ? null : expires,
  });
  if (row === undefined) {
    if (connection.address === null) throw new ApiError('catch_all_exists', { param: 'target' });
    throw new ApiError('address_in_use', { param: 'address' });
  }
  const deployment = renderDeployment(publicUrl, row);
  if (token === undefined) return deployment;
  const { deep_link, prefilled_message } = startLinks(token);
  return {
    ...deployment,
    start_token: token,
    ...(deep_link === undefined ? {} : { deep_link }),
    ...(prefilled_message === undefined ? {} : { prefilled_message }),
  };
}
