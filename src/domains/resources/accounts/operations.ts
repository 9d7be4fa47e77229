import { open } from '../../operation.ts';
import { type AccountDependencies, createAccount } from './create-account.ts';
import { Account, AccountCreate } from './schema.ts';

export function accountOperations(deps: AccountDependencies) {
  return [
    open.turn({
      id: 'accounts.create',
      method: 'POST',
      path: '/api/v1/accounts',
      posture: 'public',
      summary: 'Sign up',
      description:
        'Makes a user, a workspace with its wallet, and a token with the scope `write`, which is shown this once. With ' +
        '`prefund`, also opens a payment; where the server takes no cards that is refused, and no account is made.',
      idempotent: true,
      status: 201,
      body: AccountCreate,
      // Anybody may send it.
      maxBodyBytes: 64 * 1024,
      example: { email: 'ada@example.com' },
      reply: Account,
      errors: ['email_taken', 'payment_failed'],
      handler: createAccount(deps),
    }),
  ];
}
