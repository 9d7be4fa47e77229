/** Authentication and tokens. 401: who is calling is not established. 403: the caller is known and may not. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const authenticationErrors = {
  unauthenticated: {
    status: 401,
    message:
      'The request carries no valid bearer token: it is missing, malformed, expired or revoked. Send `Authorization: Bearer <token>`, and mint a new token if this one has ended.',
  },
  admin_required: {
    status: 403,
    message:
      'This operation handles credentials and needs a token that carries `tenant:*`. Call it from your server with a tenant-admin token.',
  },
  tenant_token_required: {
    status: 403,
    message:
      'This operation works inside a project and needs a tenant-admin token. A smith token and an organization key cannot stand in for it.',
  },
  organization_required: {
    status: 403,
    message: 'This operation belongs to the organization. Call it with an organization key.',
  },
  insufficient_scope: {
    status: 403,
    message: 'The token lacks a scope that this operation needs; `details` names it. Mint a token that includes it.',
  },
  smith_mismatch: {
    status: 403,
    message:
      'This smith token is bound to another smith. Use a token of the smith that the request names, or a tenant-admin token.',
  },
  forbidden_target: {
    status: 403,
    message:
      'This token may not deploy that target: a smith token reaches only its own smith. Target that smith, or use a tenant-admin token.',
  },
  permissions_required: {
    status: 422,
    message: 'A smith token is minted with an explicit list of scopes. Send `permissions` with at least one scope.',
  },
  invalid_token_scope: {
    status: 422,
    message: "The token's `scope` is not one that can be minted here. Use `smith` or `admin`.",
  },
  minting_unavailable: {
    status: 503,
    message:
      'Tokens cannot be minted at the moment because the signing key is not available. Try again shortly; if it persists, ask the operator to check the signing key.',
  },
} as const satisfies ErrorTexts;
