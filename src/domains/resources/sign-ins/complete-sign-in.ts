import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RequestContext } from '../../../kernel/http/operation.ts';
import { hashToken, issueToken } from '../../access/tokens.ts';
import { systemDb } from '../../workspace-scope.ts';
import type { SignedIn, SignInCode } from './schema.ts';

type Request = RequestContext<undefined> & { readonly body: SignInCode; readonly tx: Transaction };

/** The code is used up with the transaction that mints the token. Throws `invalid_token`. */
export function completeSignIn({ clock }: { readonly clock: Clock }) {
  return async ({ body, tx }: Request): Promise<SignedIn> => {
    const now = clock.now();
    const used = await systemDb(tx)
      .updateTable('sign_ins')
      .set({ used_at: now })
      .where('code_hash', '=', hashToken(body.code))
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .returning('email_key')
      .executeTakeFirst();
    if (used === undefined) {
      throw new ApiError('invalid_token', {
        message: 'This code is not known, was used, or has expired. Ask for a new one: POST /sign-ins.',
      });
    }
    const user = await systemDb(tx)
      .selectFrom('users')
      .select(['id', 'workspace_id'])
      .where('email_key', '=', used.email_key)
      .executeTakeFirstOrThrow();
    const token = await issueToken(tx, user.workspace_id, { userId: user.id, scope: 'write', name: 'sign-in' });
    return {
      user_id: user.id,
      workspace_id: user.workspace_id,
      token: { ...token, created_at: now.toISOString() },
    };
  };
}
