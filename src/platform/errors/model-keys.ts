/** Model keys and other credentials. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const modelKeyErrors = {
  unknown_provider: {
    status: 404,
    message: 'No provider has this name. Use a name from the list of providers.',
  },
  empty_key: {
    status: 422,
    message: "The key is empty. Send the provider's key in `api_key`.",
  },
  workspace_id_unsupported: {
    status: 422,
    message: 'This provider has no workspaces. Leave `workspace_id` out.',
  },
  secret_required: {
    status: 422,
    message:
      'A secret is needed here, and it is missing or empty. Send it in `secret`, a sandbox secret in `value`; or choose a kind of authorization that needs none.',
  },
  empty_token: {
    status: 422,
    message: 'The token is empty. Send the access token that the provider issued.',
  },
  empty_credentials: {
    status: 422,
    message: 'The credentials are empty. Send every member that this kind of credential needs.',
  },
  unsupported_credential: {
    status: 422,
    message:
      'Credentials of this kind are not supported for this provider. Use another `kind`, or connect the account with `POST /v1/smiths/{sid}/connections/authorize`.',
  },
} as const satisfies ErrorTexts;
