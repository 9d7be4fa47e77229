import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { requestMessage } from '../../verifications/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { RegistrantDependencies } from './get-registrant.ts';
import { renderVerification } from './render-verification.ts';
import type { Verification } from './schema.ts';

/** Nothing is sent where there is nothing to confirm, which the answer says. Throws `rate_limit_exceeded`. */
export function requestVerification({ clock }: RegistrantDependencies) {
  return async ({ caller, tx }: WorkspaceChange): Promise<Verification> => {
    const db = workspaceDb(tx, caller.workspaceId);
    const now = clock.now();
    const nextAt = await requestMessage(db, now);
    if (nextAt !== undefined) {
      throw new ApiError('rate_limit_exceeded', {
        message:
          'Too many messages were sent to this address lately. Use the link in the last one, or ask again later.',
        retryAfterSeconds: Math.ceil((nextAt.getTime() - now.getTime()) / 1_000),
      });
    }
    return renderVerification(db, now);
  };
}
