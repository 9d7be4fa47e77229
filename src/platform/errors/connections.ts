/** Connections and OAuth. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const connectionErrors = {
  invalid_scope: {
    status: 400,
    message:
      'The requested scopes are not valid. Ask only for scopes that are offered, and add `openid` if you ask for `email` or `profile`.',
  },
  refresh_failed: {
    status: 502,
    message:
      'The provider refused to renew this connection. Connect the account again with `POST /v1/smiths/{sid}/connections/authorize`.',
  },
} as const satisfies ErrorTexts;
