import type { IncomingHttpHeaders } from 'node:http';
import { authenticateClient, type OAuthDependencies, revokeOfClient } from '../../authorization-server/index.ts';
import { withoutEmpty } from './read-form.ts';
import type { RevocationForm } from './schema.ts';

interface Submitted {
  readonly headers: IncomingHttpHeaders;
  readonly body: RevocationForm;
}

export function revokeTokens(deps: OAuthDependencies) {
  return async ({ headers, body }: Submitted): Promise<void> => {
    const client = await authenticateClient(deps, { ...withoutEmpty(body), authorization: headers.authorization });
    await revokeOfClient(deps, client, body.token);
  };
}
