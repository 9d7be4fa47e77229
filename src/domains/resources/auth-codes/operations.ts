import { BASE_PATH, workspace } from '../../operation.ts';
import { AuthCodePath, SentAuthCode } from './schema.ts';
import { type AuthCodeDependencies, sendAuthCode } from './send-auth-code.ts';

export function authCodeOperations(deps: AuthCodeDependencies) {
  return [
    workspace.turn({
      id: 'auth_codes.send',
      method: 'POST',
      path: `${BASE_PATH}/domains/{name}/auth-code`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Mail the auth code to the registrant',
      description:
        'Makes a new code, gives it to the registry, and mails it to the address that the workspace signed up with; no ' +
        'answer has it. It works for two weeks, or as long as the operator says; the registry forgets it then. A domain with `registrar_lock` on is refused. At most three times a minute for one domain.',
      idempotent: true,
      params: AuthCodePath,
      reply: SentAuthCode,
      errors: ['pending_at_registry', 'pending_operation', 'rate_limit_exceeded'],
      handler: sendAuthCode(deps),
    }),
  ];
}
