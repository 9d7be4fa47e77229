/** A deployment of a number at Twilio, whose account is its own. */

import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import {
  accountIdOf,
  checkTwilioNumber,
  holdNumber,
  type NumberKind,
  numberMetadata,
  readNumber,
  settleNumberLater,
} from '../../channels/index.ts';
import { checkBinding, requireOwnTarget } from './check-deployment.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { holdTarget } from './hold-target.ts';
import { makeConnection } from './make-connection.ts';
import type { CreatedDeployment, DeploymentIn } from './schema.ts';
import { sealSecrets } from './seal-secrets.ts';

export function isOfNumber(body: DeploymentIn): body is DeploymentIn & { readonly kind: NumberKind } {
  return body.kind === 'sms' || body.kind === 'voice';
}

/** Twilio is asked outside of any transaction. Throws what `readNumber` and `checkTwilioNumber` do. */
export function checkNumber({ outbound }: { readonly outbound: Outbound }) {
  return async ({ caller, body }: { readonly caller: ProjectCaller; readonly body: DeploymentIn }): Promise<void> => {
    if (!isOfNumber(body)) return;
    requireOwnTarget(caller, body.target);
    checkBinding(body);
    await checkTwilioNumber(outbound, body.kind, readNumber(body));
  };
}

/** Throws `not_found`, `agent_unpublished`, `address_in_use` and `catch_all_exists`. */
export async function connectNumber(
  deps: DeploymentDependencies,
  { tx, caller, body }: ProjectChange<{ readonly body: DeploymentIn & { readonly kind: NumberKind } }>,
): Promise<CreatedDeployment> {
  const { kind, target, address = null } = body;
  const number = readNumber(body);
  const accountId = accountIdOf(number);
  const metadata = numberMetadata(number);
  await holdTarget(tx, caller, target);
  if (!(await holdNumber(tx, kind, accountId))) {
    const message = 'Another project has this number. Take another one, or delete its deployments there first.';
    throw new ApiError('address_in_use', { param: 'provider_metadata.number', message });
  }
  const id = mintId('dep');
  const connection = {
    id,
    account_id: accountId,
    address,
    provider: 'twilio',
    provider_metadata: metadata,
    ...sealSecrets(deps.vault, tx.projectId, id, { auth_token: number.access.authToken }),
  };
  const account = { accountId, settings: metadata };
  const made = await makeConnection(deps, tx, body, connection, (token) => {
    return deps.channels.get(kind)?.startLinks(account, token) ?? {};
  });
  await settleNumberLater(deps, tx, kind, number);
  return made;
}
