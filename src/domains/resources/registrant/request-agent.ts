import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { getRegistrant } from '../../registrant.ts';
import { askAuthorization } from '../../registrant-changes/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { type RegistrantDependencies, renderRegistrant } from './get-registrant.ts';
import { isAgentOffered } from './render-agent.ts';
import type { Registrant } from './schema.ts';

/** Nothing is sent where it is given already, which the answer says. Throws `bad_request` and `rate_limit_exceeded`. */
export function requestAgent(deps: RegistrantDependencies) {
  return async ({ caller, tx }: WorkspaceChange): Promise<Registrant> => {
    const now = deps.clock.now();
    if (!isAgentOffered(deps.prices, now)) {
      throw new ApiError('bad_request', {
        message:
          'No TLD is offered whose changes of the registrant we consent to for others. Changes take consents by mail, or none: see PATCH /registrant.',
      });
    }
    const nextAt = await askAuthorization(deps, tx, caller.workspaceId);
    if (nextAt !== undefined) {
      throw new ApiError('rate_limit_exceeded', {
        message:
          'Too many messages were sent to this address lately. Use the link in the last one, or ask again later.',
        retryAfterSeconds: Math.ceil((nextAt.getTime() - now.getTime()) / 1_000),
      });
    }
    const db = workspaceDb(tx, caller.workspaceId);
    return renderRegistrant(deps, db, await getRegistrant(db));
  };
}
